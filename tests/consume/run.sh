#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Uses tensorsmith the way other projects do.
#   run.sh MODE SOURCE_DIR BUILD_DIR WORK_DIR CXX
# MODE: install | find_package | shared | add_subdirectory | fetch_content | pkg_config
set -eu
mode=$1 source=$2 build=$3 work=$4 cxx=$5
prefix=$work/prefix

# A program that was built with what stands in $1, run in another folder with no variable set.
run_alone() {
  mkdir -p "$work/elsewhere"
  (cd "$work/elsewhere" && env -i PATH=/usr/bin:/bin "$@")
}
# use_package PREFIX BUILD_FOLDER [LEVEL...]: a project of somebody else, these levels of the library
# or all of them.
use_package() {
  package=$1 name=$2
  shift 2
  rm -rf "${work:?}/$name"
  cmake -S "$source/tests/consume/find_package" -B "$work/$name" -G Ninja \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$package"
  if [ $# = 0 ]; then
    cmake --build "$work/$name"
    run_alone "$work/$name/consumer_core"
    run_alone "$work/$name/consumer_all"
    run_alone "$work/$name/consumer_compiled" >"$work/$name.loops"
    grep -q 'for k' "$work/$name.loops"
    set -- lowers_with_core lowers_with_compiled tunes_with_tune tunes_with_tensorsmith
  else
    cmake --build "$work/$name" --target "$@"
  fi
  for level in "$@"; do
    # Without the CPU back end there is no tuner. The worker is neither next to the program nor on
    # PATH, nor named: the package knows where it is.
    case $level in tunes_*) [ -x "$package/bin/tensorsmith-worker" ] || continue ;; esac
    folder=$work/$name/exported_by_$level
    mkdir -p "$folder"
    run_alone "$work/$name/$level" "$folder/my_gemm.cpp" >"$folder/out" || {
      cat "$folder/out"
      exit 1
    }
    echo "$level: $(cat "$folder/out")"
    case $level in tunes_*) grep -q "^$package/" "$folder/out" ;; esac
    "$cxx" -std=c++17 -O2 -Wall -Wextra -Werror "$source/tests/consume/exported.cpp" \
      "$folder/my_gemm.cpp" -o "$folder/exported"
    run_alone "$folder/exported"
  done
}
# install_package BUILD_FOLDER PREFIX: without information for debuggers, if there is a tool that
# takes it out.
install_package() {
  rm -rf "${2:?}"
  cmake --install "$1" --prefix "$2" >"$work/install.log" || {
    tail -20 "$work/install.log"
    exit 1
  }
  test -f "$2/include/tensorsmith/version.hpp"
  test -f "$2/share/doc/tensorsmith/NOTICE"
  command -v strip >/dev/null && command -v readelf >/dev/null || return 0
  for file in "$2"/bin/* "$2"/lib*/lib*; do
    if [ -f "$file" ] && readelf -S "$file" 2>/dev/null | grep -q '\.debug_info'; then
      echo "$file carries debug information" >&2
      exit 1
    fi
  done
}
# at_most KIB WHAT PATH...
at_most() {
  limit=$1 what=$2
  shift 2
  size=$(du -ksc --apparent-size "$@" | tail -1 | cut -f1)
  echo "$what: $size KiB"
  [ "$size" -le "$limit" ] || {
    echo "$what: more than $limit KiB" >&2
    exit 1
  }
}

case $mode in
install)
  install_package "$build" "$prefix"
  if command -v strip >/dev/null && [ -d "$prefix/bin" ]; then
    at_most 20480 "installed programs" "$prefix/bin"
    at_most 38912 "installed, static" "$prefix"
  fi
  # A component that is not there: which, and why.
  for wanted in core nonsense; do
    rm -rf "$work/components"
    if cmake -S "$source/tests/consume/components" -B "$work/components" -DWANTED=$wanted -G Ninja \
      -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" >"$work/components.log" 2>&1; then
      found=1
    else
      found=0
    fi
    case $wanted$found in
    core1) ;;
    nonsense0) tr -s ' \n' ' ' <"$work/components.log" | grep -q 'component nonsense: there is none of that name; this package has core,' ;;
    *)
      cat "$work/components.log"
      exit 1
      ;;
    esac
  done
  ;;
find_package)
  use_package "$prefix" find_package
  # Optimised, the ten lines are a small program.
  cmake -S "$source/tests/consume/find_package" -B "$work/find_package" -DCMAKE_BUILD_TYPE=Release
  cmake --build "$work/find_package" --target consumer_compiled
  at_most 2048 "ten lines with compiled" "$work/find_package/consumer_compiled"
  # An installed tree may be moved.
  rm -rf "$work/moved"
  cp -R "$prefix" "$work/moved"
  if [ -x "$prefix/bin/tensorsmith-worker" ]; then
    use_package "$work/moved" find_package.moved tunes_with_tune
    # Without a worker the message says how to name one.
    rm "$work/moved/bin/tensorsmith-worker"
    if run_alone "$work/find_package.moved/tunes_with_tune" "$work/nothing.cpp" >"$work/message"; then
      echo "tuned without a worker" >&2
      exit 1
    fi
    grep -q 'TENSORSMITH_WORKER or by worker_path' "$work/message" || {
      cat "$work/message"
      exit 1
    }
  else
    use_package "$work/moved" find_package.moved lowers_with_compiled
  fi
  ;;
shared)
  # The objects are those of the static libraries. In a folder of the same name ccache has them all;
  # without it this takes as long as the first build.
  if ! command -v ccache >/dev/null || ! unshare -m true 2>/dev/null; then
    echo "tensorsmith-skip: needs ccache and unshare -m"
    exit 77
  fi
  mkdir -p "$work/shared"
  work=$work source=$source build=$build unshare -m sh -c '
    set -e
    settings=$(sed -n "s/^\(CMAKE_BUILD_TYPE\|CMAKE_CXX_COMPILER\|CMAKE_CXX_FLAGS[A-Z_]*\|CMAKE_UNITY_BUILD[A-Z_]*\|TENSORSMITH_W[A-Z_]*\|TENSORSMITH_RUN_ONCE\):\([A-Z]*=.*\)/-D\1:\2/p" "$build/CMakeCache.txt" | sed "s/ /%20/g")
    mount --make-rprivate / 2>/dev/null || true
    mount --bind "$work/shared" "$build"
    cd "$source"
    set --
    for setting in $settings; do
      set -- "$@" "$(echo "$setting" | sed "s/%20/ /g")"
    done
    cmake --preset install -B "$build" "$@"
    cmake --build "$build"
    rm -rf "$work/shared/prefix"
    cmake --install "$build" --prefix "$build/prefix"' >"$work/shared.log" 2>&1 || {
    tail -30 "$work/shared.log"
    exit 1
  }
  rm -rf "$work/prefix.shared"
  cp -R "$work/shared/prefix" "$work/prefix.shared"
  ls "$work"/prefix.shared/lib*/libtensorsmith_tune.so >/dev/null
  if command -v strip >/dev/null; then
    at_most 20480 "installed, shared" "$work/prefix.shared"
  fi
  run_alone "$work/prefix.shared/bin/tensorsmith" --version
  # What uses headers alone does not depend on the kind of libraries.
  use_package "$work/prefix.shared" find_package.shared lowers_with_compiled tunes_with_tensorsmith
  ;;
add_subdirectory | fetch_content)
  rm -rf "${work:?}/$mode"
  cmake -S "$source/tests/consume/$mode" -B "$work/$mode" -G Ninja \
    -DCMAKE_CXX_COMPILER="$cxx" -DTENSORSMITH_SOURCE="$source" -DCMAKE_BUILD_TYPE=Debug
  cmake --build "$work/$mode" --target consumer_core
  run_alone "$work/$mode/consumer_core"
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
    run_alone "$work/pkg_config/$name"
  done
  ;;
*)
  echo "run.sh: unknown mode '$mode'" >&2
  exit 2
  ;;
esac
