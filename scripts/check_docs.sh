#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Code in docs/ is text of files that are compiled, and links lead somewhere.
#   scripts/check_docs.sh [ROOT]       checks README.md and docs/
#   scripts/check_docs.sh --self-test  proves that each rule can fail
# A block of cpp or cmake in docs/ follows a line with a link to its source, in which its lines stand
# one after the other; indentation does not count. Links are checked without their #anchors. The page
# of tuning names every field of the structs whose name begins with Tune.
set -eu

check() {
  (
    cd "$1"
    find README.md docs -name '*.md' | LC_ALL=C sort | xargs awk '
      function trim(text) { gsub(/^[ \t]+|[ \t\r]+$/, "", text); return text }
      function complain(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }
      function exists(path) {
        gsub(/\/+$/, "", path)
        return system("test -e \"" path "\"") == 0
      }
      function folder(path) { return sub(/\/[^\/]*$/, "", path) ? path "/" : "" }
      function find_block(path,   n, line, lines, i, k) {
        while ((getline line < path) > 0) lines[++n] = trim(line)
        close(path)
        for (i = 1; i + size - 1 <= n; ++i) {
          for (k = 1; k <= size && lines[i + k - 1] == block[k]; ++k) {}
          if (k > size) return 1
        }
        return 0
      }
      FNR == 1 { open = 0; linked = "" }
      /^```/ {
        if (open) {
          open = 0
          if (is_code && source == "") complain("a block of code without a link to its source above it")
          else if (is_code && !find_block(source)) complain("the block above is not text of " source)
        } else {
          open = 1
          size = 0
          is_code = $0 ~ /^```(cpp|cmake)$/
          source = linked
        }
        next
      }
      open { if (is_code) block[++size] = trim($0); next }
      {
        rest = $0
        if (trim(rest) != "") linked = ""
        while (match(rest, /\]\([^)]*\)/)) {
          target = substr(rest, RSTART + 2, RLENGTH - 3)
          rest = substr(rest, RSTART + RLENGTH)
          sub(/#.*/, "", target)
          if (target == "" || target ~ /^[a-z]+:/) continue
          path = folder(FILENAME) target
          if (!exists(path)) complain("a link to " target ", which is not there")
          linked = path
        }
      }
      END { exit bad }' || exit 1
    [ ! -f include/tensorsmith/tune.hpp ] || awk '
      FNR == NR { page = page $0 "\n"; next }
      /^(struct|class) Tune[A-Za-z]* \{/ { open = 1; name = $2 }
      /^};/ { open = 0 }
      open && !/\(/ && /^  [A-Za-z].*;/ || open && /^  Callback</ {
        line = $0
        sub(/ *\/\/.*/, "", line)
        sub(/^  Callback<.*> /, "x ", line)
        gsub(/\{[^}]*\}| = [^,;]*/, "", line)
        sub(/;.*/, "", line)
        sub(/^  [^<]*<.*> /, "x ", line)
        count = split(line, words, /, */)
        for (i = 1; i <= count; ++i) {
          field = words[i]
          sub(/.*[ *]/, "", field)
          ++fields
          if (page !~ "[`.]" field "[`.]") {
            printf "docs/tune-options.md: says nothing of %s::%s\n", name, field
            bad = 1
          }
        }
      }
      END {
        if (fields == 0) { print "tune.hpp: no field was found"; bad = 1 }
        exit bad
      }' docs/tune-options.md include/tensorsmith/tune.hpp
  )
}

if [ "${1-}" = --self-test ]; then
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
  mkdir -p "$dir/docs" "$dir/examples"
  printf 'int main() {\n  return 0;\n}\n' >"$dir/examples/a.cpp"
  expect() { # VERDICT WHAT TEXT-OF-THE-PAGE
    printf '%b' "$3" >"$dir/docs/page.md"
    echo '[page](docs/page.md#top)' >"$dir/README.md"
    if check "$dir" >/dev/null; then verdict=accepted; else verdict=rejected; fi
    if [ "$verdict" != "$1" ]; then
      echo "self-test: $2 was $verdict"
      exit 1
    fi
  }
  expect accepted "text of an example" 'From [a](../examples/a.cpp):\n\n```cpp\nreturn 0;\n}\n```\n'
  expect accepted "what is no code" '```\nfor i in 3:\n```\n'
  expect rejected "code of nowhere" '```cpp\nreturn 0;\n```\n'
  expect rejected "code that is not in its source" '[a](../examples/a.cpp)\n```cpp\nreturn 1;\n```\n'
  expect rejected "lines that are not neighbours" \
    '[a](../examples/a.cpp)\n```cpp\nint main() {\n}\n```\n'
  expect rejected "a link to nothing" '[b](../examples/b.cpp)\n'
  mkdir -p "$dir/include/tensorsmith"
  printf 'struct TuneThing {\n  int first = 1;\n  double low = 0, high = 0;  ///< of it\n};\n' \
    >"$dir/include/tensorsmith/tune.hpp"
  printf '`first`, `low`, `thing.high`\n' >"$dir/docs/tune-options.md"
  expect accepted "a page of tuning with all fields" 'text\n'
  printf '`first`, `low`\n' >"$dir/docs/tune-options.md"
  expect rejected "a page of tuning without a field" 'text\n'
  echo "check_docs: self-test passed"
  exit 0
fi

check "${1-$(dirname "$0")/..}" && echo "check_docs: ok"
