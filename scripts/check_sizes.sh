#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# File and class sizes: above the limit a file or a class holds more than one concept.
#   scripts/check_sizes.sh [ROOT] [--list]   --list also names files above the soft limit
#   scripts/check_sizes.sh --self-test       proves that it can fail
set -eu

# check ROOT LIST: public headers 300 (hard 350), other headers 300 (hard 400), sources 500,
# tests 400; steps, rules, passes 200 (soft).
check() {
  (
    cd "$1"
    find include lib tools bench examples tests \
      \( -name '*.hpp' -o -name '*.cpp' \) -not -path 'tests/data/*' 2>/dev/null |
      LC_ALL=C sort | xargs -r awk 'FNR == 1 && /SPDX-License-Identifier/ { next }
        { ++lines[FILENAME] }
        END { for (name in lines) print lines[name], name }' | LC_ALL=C sort -k 2
  ) | awk -v list="$2" '
    {
      hard = 500; soft = 500
      if ($2 ~ /^tests\//) { hard = 400; soft = 400 }
      else if ($2 ~ /\.hpp$/) { hard = $2 ~ /^include\// ? 350 : 400; soft = 300 }
      if ($2 ~ /(sched\/apply|sketch\/rules|lower)\/[a-z_0-9]+\.hpp$/) soft = 200
      if ($1 > hard) { printf "%s: %d lines, limit %d\n", $2, $1, hard; bad = 1 }
      else if ($1 > soft && list) printf "%s: %d lines, should stay below %d\n", $2, $1, soft
    }
    END { exit bad }'
}

# check_classes ROOT: member functions of a class. Of formatted sources: they begin behind two
# spaces, between a class that begins a line and the "};" that ends it.
check_classes() {
  (
    cd "$1"
    find include lib tools bench examples \( -name '*.hpp' -o -name '*.cpp' \) 2>/dev/null |
      LC_ALL=C sort | xargs -r awk '
        /^(class|struct) .*\{$/ { name = $2; count = 0 }
        name != "" && /^  [A-Za-z~\[].*\(/ && !/^  (using|friend|static_assert)/ &&
          !/= delete;$/ { ++count }
        /^};/ {
          if (count > 60) {
            printf "%s: class %s has %d member functions, limit 60\n", FILENAME, name, count
            bad = 1
          }
          name = ""
        }
        END { exit bad }'
  )
}

if [ "${1-}" = --self-test ]; then
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
  expect() { # VERDICT FILE LINES
    rm -rf "${dir:?}/include" "${dir:?}/lib" "${dir:?}/tests"
    mkdir -p "$dir/$(dirname "$2")"
    awk -v n="$3" 'BEGIN { for (i = 0; i < n; ++i) print "//" }' >"$dir/$2"
    if check "$dir" 0 >/dev/null; then verdict=accepted; else verdict=rejected; fi
    if [ "$verdict" != "$1" ]; then
      echo "self-test: $2 with $3 lines was $verdict"
      exit 1
    fi
  }
  expect accepted include/a.hpp 350
  expect rejected include/a.hpp 351
  expect accepted lib/a.hpp 400
  expect rejected lib/a.hpp 401
  expect accepted lib/a.cpp 500
  expect rejected lib/a.cpp 501
  expect rejected tests/unit/a_test.cpp 401
  expect_class() { # VERDICT FUNCTIONS
    rm -rf "${dir:?}/include" "${dir:?}/lib" "${dir:?}/tests"
    mkdir -p "$dir/include"
    awk -v n="$2" 'BEGIN {
      print "class A {"
      for (i = 0; i < n; ++i) print "  void f" i "(int a,\n         int b = g());"
      print "  int data;\n};"
    }' >"$dir/include/a.hpp"
    if check_classes "$dir" >/dev/null; then verdict=accepted; else verdict=rejected; fi
    if [ "$verdict" != "$1" ]; then
      echo "self-test: a class of $2 member functions was $verdict"
      exit 1
    fi
  }
  expect_class accepted 60
  expect_class rejected 61
  echo "check_sizes: self-test passed"
  exit 0
fi

list=0
root=$(dirname "$0")/..
for argument in "$@"; do
  case $argument in
  --list) list=1 ;;
  *) root=$argument ;;
  esac
done
check "$root" "$list" && check_classes "$root" && echo "check_sizes: ok"
