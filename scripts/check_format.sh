#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clang-format over every source.
#   scripts/check_format.sh [ROOT]       exit code 77: no clang-format 14 here, nothing was checked
#   scripts/check_format.sh --fix        formats in place
#   scripts/check_format.sh --spdx [ROOT]  instead: the first line of every source, after a shebang,
#                                        names the licence (SPDX); lists those that do not
#   scripts/check_format.sh --self-test  proves that it can fail
set -eu

# The licence of LICENSE, as SPDX names it.
spdx_id() {
  if grep -q 'Apache License' "$1/LICENSE" && grep -q 'Version 2\.0' "$1/LICENSE"; then
    echo Apache-2.0
  else
    echo "check_format: LICENSE is not one that is known here" >&2
    return 1
  fi
}
check_spdx() {
  (
    cd "$1"
    id=$(spdx_id .)
    find CMakeLists.txt include lib tools bench examples tests scripts cmake \
      \( -name '*.[ch]pp' -o -name '*.[hc]' -o -name '*.ipp' -o -name '*.def' -o -name '*.cmake' -o -name '*.in' \
      -o -name '*.sh' -o -name '*.py' -o -name CMakeLists.txt \) -not -path 'tests/data/*' 2>/dev/null | LC_ALL=C sort |
      while IFS= read -r file; do
        case $file in
        *.[ch]pp | *.[hc] | *.ipp | *.def) mark='//' ;;
        *) mark='#' ;;
        esac
        line=$(sed -n '1{/^#!/!p;q;}' "$file")
        [ -n "$line" ] || line=$(sed -n '2p' "$file")
        [ "$line" = "$mark SPDX-License-Identifier: $id" ] || echo "$file: no licence line"
      done
  )
}

if [ "${1-}" = --spdx ]; then
  missing=$(check_spdx "${2-$(dirname "$0")/..}")
  [ -z "$missing" ] || {
    echo "$missing"
    exit 1
  }
  echo "check_format: every source names its licence"
  exit 0
fi

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
  cp "$root/LICENSE" "$dir"
  mkdir -p "$dir/scripts"
  printf '// SPDX-License-Identifier: Apache-2.0\nint good;\n' >"$dir/lib/a.cpp"
  printf '#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n' >"$dir/scripts/a.sh"
  [ -z "$(check_spdx "$dir")" ] || {
    echo "self-test: sources with a licence line were rejected"
    exit 1
  }
  printf '#!/bin/sh\n' >"$dir/scripts/a.sh"
  printf 'int bad;\n// SPDX-License-Identifier: Apache-2.0\n' >"$dir/lib/a.cpp"
  for name in a.def a.ipp a.h a.in CMakeLists.txt; do
    echo bad >"$dir/lib/$name"
  done
  [ "$(check_spdx "$dir" | wc -l)" = 7 ] || {
    echo "self-test: a source without a licence line was accepted"
    exit 1
  }
  echo "check_format: self-test passed"
  ;;
*)
  check "${1-$root}" && echo "check_format: ok"
  ;;
esac
