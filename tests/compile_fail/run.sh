#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh CXX INCLUDE_DIR CASE.cpp: the case must compile as it is, and must not with -DMUST_FAIL.
# A line "// expect: TEXT" in the case names words that the compiler's complaint must contain.
set -eu
cxx=$1 include=$2 source=$3
if ! "$cxx" -std=c++20 -fsyntax-only -I"$include" "$source"; then
  echo "$source: must compile without MUST_FAIL" >&2
  exit 1
fi
if output=$("$cxx" -std=c++20 -fsyntax-only -DMUST_FAIL -I"$include" "$source" 2>&1); then
  echo "$source: compiles with MUST_FAIL, but must not" >&2
  exit 1
fi
expected=$(sed -n 's|^// expect: ||p' "$source")
if [ -n "$expected" ] && ! printf '%s' "$output" | grep -q -e "$expected"; then
  printf '%s\n' "$output"
  echo "$source: fails for another reason than '$expected'" >&2
  exit 1
fi
