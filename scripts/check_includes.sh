#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Floors and banned includes of the public headers; no private ones in programs.
#   scripts/check_includes.sh [ROOT]       checks ROOT/include/tensorsmith and ROOT's programs
#   scripts/check_includes.sh --self-test  proves that each rule can fail
# A header includes only lower floors and its own folder, by full path ("tensorsmith/..."). Heavy
# standard headers and third-party headers are banned; some are allowed with a reason on the line,
# for support/ has light ones in their place (shared, flat_map, hash_map, callback, algorithm, math).
set -eu

check() {
  find "$1/include/tensorsmith" \( -name '*.hpp' -o -name '*.def' \) | LC_ALL=C sort |
    xargs awk -v root="$1/include/" '
    BEGIN {
      split("support 0 ir 1 te 2 ops 3 sched 3 lower 4 feature 5 sketch 5 codegen 5 cost 6 felix 6.5 " \
            "measure 6 record 6 space 6 search 7 report 7 cuda 7 graph 10 tune 10", f, " ")
      for (i = 1; i in f; i += 2) folder_floor[f[i]] = f[i + 1]
      split("version.hpp 0 gpu_devices.hpp 0 cpu_models.hpp 0 core_rates.hpp 0 fwd.hpp 1 task_input.hpp 1 target.hpp 1 host.hpp 2 codegen/kernel_abi.hpp 1 measure/status.hpp 5 kernel.hpp 7 tune.hpp 8 kernel_artifact.hpp 8 " \
            "tune_tasks.hpp 9 onnx.hpp 11 tensorsmith.hpp 12", g, " ")
      for (i = 1; i in g; i += 2) file_floor[g[i]] = g[i + 1]
      n = split("iostream istream ostream sstream fstream iomanip regex random ranges filesystem " \
                "chrono thread mutex condition_variable future", b, " ")
      for (i = 1; i <= n; ++i) banned[b[i]] = 1
      n = split("memory functional atomic cmath algorithm numeric map set unordered_map " \
                "unordered_set", r, " ")
      for (i = 1; i <= n; ++i) reason[r[i]] = 1
      bad = 0
    }
    function complain(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }
    function floor_of(path,   folder) {
      if (path in file_floor) return file_floor[path]
      folder = path
      if (!sub(/\/.*/, "", folder)) return -1
      return (folder in folder_floor) ? folder_floor[folder] : -1
    }
    function folder_of(path) { return sub(/\/.*/, "", path) ? path : "" }
    function finish_file() {
      if (previous != "" && previous ~ /\.hpp$/ && !guarded) {
        printf "%s:1: no #pragma once\n", previous
        bad = 1
      }
    }
    FNR == 1 {
      finish_file()
      previous = FILENAME
      guarded = 0
      self = substr(FILENAME, length(root "tensorsmith/") + 1)
      self_floor = floor_of(self)
      if (self_floor < 0) complain("no floor is known for this place")
    }
    /^#pragma once/ { guarded = 1 }
    /^[ \t]*#[ \t]*include[ \t]*</ {
      name = $0
      sub(/^[^<]*</, "", name)
      sub(/>.*/, "", name)
      if (name in banned) complain("<" name "> is banned in public headers")
      if (name ~ /^(fmt|nlohmann|Eigen|llvm|llvm-c|clang|CLI|cuda|nvrtc|sqlite3|boost|sys\/|unistd|pthread)/)
        complain("<" name "> is a third-party or system header")
      if (name in reason && $0 !~ />[ \t]*\/\/ *[^ ]/)
        complain("<" name "> needs a reason behind it: #include <" name ">  // why")
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
      name = $0
      sub(/^[^"]*"/, "", name)
      sub(/".*/, "", name)
      if (name !~ /^tensorsmith\//) {
        complain("\"" name "\" must be included as \"tensorsmith/...\"")
        next
      }
      name = substr(name, length("tensorsmith/") + 1)
      if ((getline line < (root "tensorsmith/" name)) < 0) complain("\"" name "\" does not exist")
      close(root "tensorsmith/" name)
      floor = floor_of(name)
      if (floor >= self_floor && !(folder_of(name) != "" && folder_of(name) == folder_of(self)))
        complain("floor " self_floor " includes tensorsmith/" name " of floor " floor)
    }
    END {
      finish_file()
      exit bad
    }'
}

# Programs and lessons use the library as others do: a header of lib/ is none of theirs.
check_programs() (
  cd "$1"
  find tools bench examples \( -name '*.hpp' -o -name '*.cpp' \) 2>/dev/null | LC_ALL=C sort |
    xargs awk '
    function exists(path,   line, found) {
      found = (getline line < path) >= 0
      close(path)
      return found
    }
    /^[ \t]*#[ \t]*include[ \t]*["<]/ {
      name = $0
      sub(/^[^"<]*["<]/, "", name)
      sub(/[">].*/, "", name)
      folder = FILENAME
      sub(/[^\/]*$/, "", folder)
      # Its own folder first, as a compiler does.
      if (!exists(folder name) && (name ~ /^lib\// || exists("lib/" name))) {
        printf "%s:%d: \"%s\" is a private header of lib/\n", FILENAME, FNR, name
        bad = 1
      }
      if (FILENAME ~ /^tools\// && name ~ /^(llvm|llvm-c|cuda|nvrtc)\//) {
        printf "%s:%d: <%s> belongs behind a header of the library\n", FILENAME, FNR, name
        bad = 1
      }
    }
    END { exit bad }'
)

self_test() {
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
  failures=0
  # expect WHAT FILE TEXT: a tree with this one line added must be rejected, naming the file.
  expect() {
    rm -rf "$dir/include"
    mkdir -p "$dir/include/tensorsmith/support" "$dir/include/tensorsmith/ir" \
      "$dir/include/tensorsmith/search" "$dir/include/tensorsmith/nowhere"
    for file in support/id.hpp ir/expr.hpp search/policy.hpp; do
      printf '#pragma once\n' >"$dir/include/tensorsmith/$file"
    done
    printf '%b' "$3" >"$dir/include/tensorsmith/$2"
    if check "$dir" >"$dir/log"; then verdict=accepted; else verdict=rejected; fi
    if [ "$verdict" != "$1" ]; then
      echo "self-test: $2 with '$3' was $verdict"
      failures=1
    fi
  }
  expect accepted ir/a.hpp '#pragma once\n#include "tensorsmith/support/id.hpp"\n#include <vector>\n'
  expect accepted ir/a.hpp '#pragma once\n#include "tensorsmith/ir/expr.hpp"\n#include <cmath>  // exp\n'
  expect rejected ir/a.hpp '#include <vector>\n'
  expect rejected support/a.hpp '#pragma once\n#include "tensorsmith/ir/expr.hpp"\n'
  expect rejected ir/a.hpp '#pragma once\n#include "tensorsmith/search/policy.hpp"\n'
  expect rejected ir/a.hpp '#pragma once\n#include "expr.hpp"\n'
  expect rejected ir/a.hpp '#pragma once\n#include "tensorsmith/ir/gone.hpp"\n'
  expect rejected ir/a.hpp '#pragma once\n#include <iostream>\n'
  expect rejected ir/a.hpp '#pragma once\n  #  include <chrono>\n'
  expect rejected ir/a.hpp '#pragma once\n#include <llvm-c/Core.h>\n'
  expect rejected ir/a.hpp '#pragma once\n#include <fmt/format.h>\n'
  expect rejected ir/a.hpp '#pragma once\n#include <memory>\n'
  expect rejected nowhere/a.hpp '#pragma once\n'
  # expect_program WHAT FILE TEXT: the same of a program beside a library with a private header.
  expect_program() {
    rm -rf "$dir/programs"
    mkdir -p "$dir/programs/lib/tune" "$dir/programs/${2%/*}"
    printf '#pragma once\n' >"$dir/programs/lib/tune/secret.hpp"
    printf '#pragma once\n' >"$dir/programs/${2%/*}/own.hpp"
    printf '%b' "$3" >"$dir/programs/$2"
    if check_programs "$dir/programs" >"$dir/log"; then verdict=accepted; else verdict=rejected; fi
    if [ "$verdict" != "$1" ]; then
      echo "self-test: $2 with '$3' was $verdict"
      failures=1
    fi
  }
  expect_program accepted tools/a/main.cpp '#include "own.hpp"\n#include "tensorsmith/tune.hpp"\n'
  expect_program rejected tools/a/main.cpp '#include "tune/secret.hpp"\n'
  expect_program rejected bench/a/main.cpp '#include "lib/tune/secret.hpp"\n'
  expect_program rejected examples/a.cpp '  # include <tune/secret.hpp>\n'
  expect_program rejected tools/a/main.cpp '#include <llvm-c/Core.h>\n'
  [ "$failures" = 0 ] && echo "check_includes: self-test passed"
  return "$failures"
}

if [ "${1-}" = --self-test ]; then
  self_test
else
  root=${1-$(dirname "$0")/..}
  check "$root" && check_programs "$root" && echo "check_includes: ok"
fi
