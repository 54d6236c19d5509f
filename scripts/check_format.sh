#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clang-format over every source.
#   scripts/check_format.sh [ROOT]       exit code 77: no clang-format 14 here, nothing was checked
#   scripts/check_format.sh --fix        formats in place
#   scripts/check_format.sh --self-test  proves that it can fail
set -eu

tool=
for candidate in clang-format-14 clang-format; do
  if command -v "$candidate" >/dev/null 2>&1 &&
    "$candidate" --version | grep -q 'version 14\.'; then
    tool=$candidate
    break
  fi
done
if [ -z "$tool" ]; then
  echo "check_format: needs clang-format 14 (other versions format differently)"
  exit 77
fi

sources() {
  (
    cd "$1"
    find include lib tools bench examples tests \( -name '*.hpp' -o -name '*.cpp' \) \
      -not -path 'tests/data/*' -not -path 'tests/golden/data/*' 2>/dev/null | LC_ALL=C sort
  )
}
check() {
  sources "$1" | (
    cd "$1"
    xargs -r -P "$(nproc)" -n 20 "$tool" --dry-run --Werror --style=file
  )
}

root=$(cd "$(dirname "$0")/.." && pwd)
case ${1-} in
--fix)
  sources "$root" | (
    cd "$root"
    xargs -r "$tool" -i --style=file
  )
  ;;
--self-test)
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
  cp "$root/.clang-format" "$dir"
  mkdir -p "$dir/lib"
  echo 'int good;' >"$dir/lib/a.cpp"
  check "$dir" || {
    echo "self-test: a formatted file was rejected"
    exit 1
  }
  echo 'int   bad ;' >"$dir/lib/a.cpp"
  if check "$dir" >/dev/null 2>&1; then
    echo "self-test: a badly formatted file was accepted"
    exit 1
  fi
  echo "check_format: self-test passed"
  ;;
*)
  check "${1-$root}" && echo "check_format: ok"
  ;;
esac
