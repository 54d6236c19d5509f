#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A compiler launcher of CMake that replaces the compiler: for targets of a build that another one is
# to compile (TENSORSMITH_TEST_COMPILER, TENSORSMITH_COLD_COMPILER).
#   compile_by.sh NEW OLD [LAUNCHER...] OLD ARGUMENT...
# A precompiled header of before is taken away where it is to be made anew: clang would read it for
# the header that is named, and refuse it because a file has changed since.
set -eu
new=$1 old=$2
shift 2
for word; do
  shift
  if [ "$word" = "$old" ]; then word=$new; fi
  case $word in *.gch) rm -f "$word" ;; esac
  set -- "$@" "$word"
done
exec "$@"
