#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Uses tensorsmith the way other projects do.
#   run.sh MODE SOURCE_DIR BUILD_DIR WORK_DIR CXX
# MODE: install | find_package | add_subdirectory | fetch_content | pkg_config
set -eu
mode=$1 source=$2 build=$3 work=$4 cxx=$5
prefix=$work/prefix
case $mode in
install)
  rm -rf "$prefix"
  cmake --install "$build" --prefix "$prefix" >"$work/install.log" || {
    tail -20 "$work/install.log"
    exit 1
  }
  test -f "$prefix/include/tensorsmith/version.hpp"
  # Programs carry no information for debuggers, if there is a tool that takes it out.
  for program in "$prefix"/bin/*; do
    if [ -f "$program" ] && command -v strip >/dev/null && command -v readelf >/dev/null; then
      if readelf -S "$program" | grep -q '\.debug_info'; then
        echo "$program carries debug information" >&2
        exit 1
      fi
    fi
  done
  ;;
find_package | add_subdirectory | fetch_content)
  rm -rf "${work:?}/$mode"
  cmake -S "$source/tests/consume/$mode" -B "$work/$mode" -G Ninja \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" \
    -DTENSORSMITH_SOURCE="$source" -DCMAKE_BUILD_TYPE=Debug
  cmake --build "$work/$mode" --target consumer_core
  "$work/$mode/consumer_core"
  if [ "$mode" = find_package ]; then
    cmake --build "$work/$mode" --target consumer_all
    "$work/$mode/consumer_all"
    cmake --build "$work/$mode" --target consumer_embed
    # Neither next to the program nor on PATH, nor named: the package knows where it is.
    env -u TENSORSMITH_WORKER PATH=/usr/bin:/bin "$work/$mode/consumer_embed"
    # An installed tree may be moved.
    rm -rf "$work/moved" "$work/$mode.moved"
    cp -R "$prefix" "$work/moved"
    cmake -S "$source/tests/consume/$mode" -B "$work/$mode.moved" -G Ninja \
      -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_BUILD_TYPE=Debug
    cmake --build "$work/$mode.moved" --target consumer_embed
    env -u TENSORSMITH_WORKER PATH=/usr/bin:/bin "$work/$mode.moved/consumer_embed" |
      tee "$work/moved.out"
    if [ -x "$prefix/bin/tensorsmith-worker" ]; then
      grep -q "^$work/moved/" "$work/moved.out"
    fi
  fi
  ;;
pkg_config)
  pc=$(find "$prefix" -name tensorsmith.pc)
  PKG_CONFIG_PATH=$(dirname "$pc")
  export PKG_CONFIG_PATH
  mkdir -p "$work/pkg_config"
  test "$(pkg-config --modversion tensorsmith)" = "$(sed -n \
    's/^#define TENSORSMITH_VERSION "\(.*\)"$/\1/p' "$source/include/tensorsmith/version.hpp")"
  for name in core all; do
    # shellcheck disable=SC2046
    "$cxx" "$source/tests/consume/$name.cpp" -o "$work/pkg_config/$name" \
      $(pkg-config --cflags --libs tensorsmith)
    "$work/pkg_config/$name"
  done
  ;;
*)
  echo "run.sh: unknown mode '$mode'" >&2
  exit 2
  ;;
esac
