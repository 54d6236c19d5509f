#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every public header compiles alone, included twice, with warnings as errors.
#   scripts/check_headers.sh [ROOT]       with g++ and clang++, whichever are there (or $CXX)
#   scripts/check_headers.sh --self-test  proves that it can fail
#
# clang reads a header on top of the precompiled form of one that it includes itself, so that what
# many share is parsed once. That hides nothing: all of it stands in the header's own includes, before
# its first line of code, and each of those is checked in the same way.
set -eu

flags="-std=c++20 -Wall -Wextra -Werror -Wno-missing-field-initializers"

# Reads "FILE:line" of all headers, prints "HEADER BASE USED": BASE is the largest of what is included
# before the first line of code and does not lead back to HEADER, or -; USED: HEADER is a base itself.
bases_of='
  # count of lines below (and with) header h, each once; seen[] is what was reached
  function reach(h, n, i, sum) {
    if (h in seen || !(h in lines)) return 0
    seen[h] = 1
    sum = lines[h]
    n = split(includes[h], list, " ")
    for (i = 1; i <= n; ++i) next_of[h, i] = list[i]
    for (i = 1; i <= n; ++i) sum += reach(next_of[h, i])
    return sum
  }
  # sets base[h]: from the leading includes of x, and from those of an include that leads back to h
  function choose(h, x, n, i, size) {
    if (x in tried) return
    tried[x] = 1
    n = split(first[x], list, " ")
    for (i = 1; i <= n; ++i) leading[x, i] = list[i]
    for (i = 1; i <= n; ++i) {
      split("", seen)
      size = reach(leading[x, i])
      if (h in seen) choose(h, leading[x, i])
      else if (size > best) { best = size; base[h] = leading[x, i] }
    }
  }
  {
    colon = index($0, ":")
    name = substr($0, 1, colon - 1)
    text = substr($0, colon + 1)
    if (!(name in lines)) { names[++count] = name; code[name] = 0 }
    ++lines[name]
    if (text ~ /^ *# *include +"/) {
      split(text, part, "\"")
      includes[name] = includes[name] " " part[2]
      if (!code[name]) first[name] = first[name] " " part[2]
    } else if (text !~ /^ *(#|\/\/|$)/) {
      code[name] = 1
    }
  }
  END {
    for (k = 1; k <= count; ++k) {
      h = names[k]
      best = 0
      base[h] = "-"
      split("", tried)
      choose(h, h)
      if (base[h] != "-") used[base[h]] = 1
    }
    for (k = 1; k <= count; ++k) print names[k], base[names[k]], names[k] in used
  }'

# check_with_bases ROOT COMPILER DIR: by clang; DIR is empty and gets the precompiled headers.
check_with_bases() {
  (
    cd "$1/include"
    find . -name '*.hpp' | sed 's|^\./||' | LC_ALL=C sort | xargs grep -H '' | awk "$bases_of" |
      while read -r header base used; do
        case $header$used in
        *_body.hpp0) if grep -qF "\"$header\"" "${header%_body.hpp}.hpp"; then continue; fi ;;
        esac
        file="$3/$(echo "$header" | tr / @)"
        printf '#include "%s"\n#include "%s"\n' "$header" "$header" >"$file@"
        output=-fsyntax-only
        if [ "$used" = 1 ]; then output="-fpch-instantiate-templates -o $file.pch"; fi
        compile="$2 $flags -I. -x c++-header $file@ $output"
        printf 'all: %s.pch\n' "$file"
        if [ "$base" = - ]; then
          printf '%s.pch:\n\t@' "$file"
        else
          # clang crashes now and then where it reads a form that was made on top of another one. So
          # a base is read once before others stand on it; if that fails, and to say what is wrong,
          # it is made without one.
          below=$3/$(echo "$base" | tr / @).pch
          printf '%s.pch: %s\n\t@{ %s -fno-crash-diagnostics -include-pch %s' \
            "$file" "$below" "$compile" "$below"
          if [ "$used" = 1 ]; then
            printf ' && %s $(NOTHING) -fno-crash-diagnostics -include-pch %s.pch' "$2" "$file"
          fi
          printf '; } 2>%s.log || ' "$file"
        fi
        printf '%s || { echo "%s: include/%s does not compile alone"; exit 1; }\n' \
          "$compile" "$2" "$header"
      done >"$3/Makefile"
    make -s -k -j "$(nproc)" -f "$3/Makefile" NOTHING="$flags -I. -x c++-header /dev/null -fsyntax-only" all
  )
}

# check_each ROOT COMPILER: by any compiler
check_each() {
  find "$1/include" -name '*.hpp' | LC_ALL=C sort | (
    cd "$1/include"
    sed "s|^$1/include/||" | xargs -P "$(nproc)" -I '{}' sh -c '
      printf "#include \"%s\"\n#include \"%s\"\n" "$1" "$1" |
        "$2" $3 -fsyntax-only -I. -x c++ - ||
          { echo "$2: include/$1 does not compile alone"; exit 1; }' _ '{}' "$2" "$flags"
  )
}

# check ROOT COMPILER
check() {
  case $("$2" --version 2>/dev/null) in
  *clang*)
    rm -rf "$scratch/bases"
    mkdir "$scratch/bases"
    check_with_bases "$1" "$2" "$scratch/bases"
    ;;
  *) check_each "$1" "$2" ;;
  esac
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ "${1-}" = --self-test ]; then
  dir=$scratch/tree
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
  # What another header, or the same one further down, includes does not help.
  echo '#pragma once
inline std::uint64_t two() { return 2; }
#include "good.hpp"' >"$dir/include/bad.hpp"
  echo '#pragma once
#include "good.hpp"
#include "bad.hpp"
inline std::uint64_t three() { return one() + two(); }' >"$dir/include/user.hpp"
  if check "$dir" "$compiler" >/dev/null 2>&1; then
    echo "self-test: a header with its include below the use was accepted"
    exit 1
  fi
  echo '#pragma once
#include "good.hpp"
inline std::uint64_t two() { return one(); }' >"$dir/include/bad.hpp"
  check "$dir" "$compiler" || {
    echo "self-test: good headers that include each other were rejected"
    exit 1
  }
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
