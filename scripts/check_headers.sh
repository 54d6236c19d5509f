#!/bin/sh
# Every public header compiles alone, included twice, with warnings as errors.
#   scripts/check_headers.sh [ROOT]       with g++ and clang++, whichever are there (or $CXX)
#   scripts/check_headers.sh --self-test  proves that it can fail
set -eu

# check ROOT COMPILER
check() {
  find "$1/include" -name '*.hpp' | LC_ALL=C sort | (
    cd "$1/include"
    sed "s|^$1/include/||" | xargs -P "$(nproc)" -I '{}' sh -c '
      printf "#include \"%s\"\n#include \"%s\"\n" "$1" "$1" |
        "$2" -std=c++20 -Wall -Wextra -Werror -Wno-missing-field-initializers -fsyntax-only -I. \
          -x c++ - || { echo "$2: include/$1 does not compile alone"; exit 1; }' _ '{}' "$2"
  )
}

if [ "${1-}" = --self-test ]; then
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
  mkdir -p "$dir/include"
  compiler=${CXX:-c++}
  echo '#pragma once
#include <cstdint>
inline std::uint32_t one() { return 1; }' >"$dir/include/good.hpp"
  check "$dir" "$compiler" || {
    echo "self-test: a good header was rejected"
    exit 1
  }
  echo 'std::vector<int> values();' >"$dir/include/bad.hpp"
  if check "$dir" "$compiler" >/dev/null 2>&1; then
    echo "self-test: a header that lacks an include was accepted"
    exit 1
  fi
  echo 'inline int twice() { return 2; }' >"$dir/include/bad.hpp"
  if check "$dir" "$compiler" >/dev/null 2>&1; then
    echo "self-test: a header without guard was accepted"
    exit 1
  fi
  echo "check_headers: self-test passed"
  exit 0
fi

root=$(cd "${1-$(dirname "$0")/..}" && pwd)
status=0
used=
for compiler in ${CXX:-g++ clang++}; do
  if command -v "$compiler" >/dev/null 2>&1; then
    used="$used $compiler"
    check "$root" "$compiler" || status=1
  fi
done
if [ -z "$used" ]; then
  echo "check_headers: no compiler found" >&2
  exit 1
fi
[ "$status" = 0 ] && echo "check_headers: ok with$used"
exit "$status"
