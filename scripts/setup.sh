#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what tensorsmith needs from the distribution (Debian 12, Ubuntu 24.04 or newer).
#   scripts/setup.sh            installs what is missing
#   scripts/setup.sh --check    only says what is missing; exit code 1 if something needed is
#   scripts/setup.sh --peers    also BLIS, libxsmm, and oneDNN 3.2 from PyPI (into build/peers)
#   scripts/setup.sh --nvrtc    also NVRTC 12.9 from PyPI (into build/nvrtc, 110 MB), to compile CUDA
#                               without the toolkit; nothing if there is an NVRTC already
# Idempotent; works as root or through sudo; touches nothing when everything is there.
set -eu

check_only=0
peers=0
nvrtc=0
for option; do
  case $option in
  --check) check_only=1 ;;
  --peers) peers=1 ;;
  --nvrtc) nvrtc=1 ;;
  -h | --help)
    sed -n '3,9s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *)
    echo "setup.sh: unknown option '$option' (known: --check, --peers, --nvrtc)" >&2
    exit 2
    ;;
  esac
done

say() { printf 'setup: %s\n' "$*"; }

# Without the first list nothing can be built; without the second a part is left out.
needed="g++ make cmake ninja-build git pkg-config"
wanted="libeigen3-dev libfmt-dev nlohmann-json3-dev libcli11-dev catch2
zlib1g-dev libgoogle-perftools-dev libxgboost-dev libbenchmark-dev libdnnl-dev libopenblas-dev
clang clang-format lld ccache g++-aarch64-linux-gnu qemu-user"
have_nvrtc() {
  for library in "$(dirname "$0")"/../build/nvrtc/libnvrtc.so.1* \
    /usr/local/cuda/lib64/libnvrtc.so.1* /usr/local/cuda/lib/libnvrtc.so.1*; do
    if [ -e "$library" ]; then return 0; fi
  done
  ldconfig -p 2>/dev/null | grep -q 'libnvrtc\.so\.1'
}
if [ "$nvrtc" = 1 ] && have_nvrtc; then nvrtc=0; fi
if [ "$peers" = 1 ]; then wanted="$wanted libblis4-pthread libxsmm-dev"; fi
if [ "$peers" = 1 ] || { [ "$nvrtc" = 1 ] && ! python3 -m pip --version >/dev/null 2>&1; }; then
  wanted="$wanted python3-pip"
fi
llvm_choices="llvm-19-dev llvm-20-dev llvm-18-dev llvm-17-dev"

if ! command -v apt-get >/dev/null 2>&1; then
  say "no apt-get here; install the equivalents of: $needed $wanted ${llvm_choices%% *}"
  for tool in c++ cmake ninja; do
    command -v "$tool" >/dev/null 2>&1 || {
      say "missing: $tool"
      exit 1
    }
  done
  exit 0
fi

# Two wheels, by their hashes; the headers and the library are all that is kept of them.
fetch_onednn3() {
  folder="$(dirname "$0")/../build/peers"
  if [ -e "$folder/onednn3/lib/libdnnl.so.3" ]; then return; fi
  say "fetching oneDNN 3.2"
  mkdir -p "$folder/wheels" "$folder/unpacked" "$folder/onednn3"
  cat >"$folder/wheels/requirements.txt" <<'WHEELS'
onednn-cpu-gomp==2023.2.0 --hash=sha256:2f22a54d6a890ed14bfa185d42a4be65d8b5b1df85dc1f0f3a9abe31620416fb
onednn-devel-cpu-gomp==2023.2.0 --hash=sha256:9763c69e8c907e119056bd52ad918ca84ac9ba939d130a99dfa95ccca3e5e284
WHEELS
  if ! python3 -m pip download --quiet --no-deps --require-hashes --dest "$folder/wheels" \
    -r "$folder/wheels/requirements.txt"; then
    say "oneDNN 3.2 could not be fetched from PyPI; the comparisons go on without it"
    return
  fi
  for wheel in "$folder"/wheels/*.whl; do
    python3 -m zipfile -e "$wheel" "$folder/unpacked"
  done
  mkdir -p "$folder/onednn3/lib"
  cp -r "$folder"/unpacked/*.data/data/include "$folder/onednn3/"
  cp "$folder"/unpacked/*.data/data/lib/libdnnl.so.3 "$folder/onednn3/lib/"
  rm -rf "$folder/wheels" "$folder/unpacked"
}

# One wheel, by its hash; of it only the two libraries are kept.
fetch_nvrtc() {
  folder="$(dirname "$0")/../build/nvrtc"
  if [ "$(uname -m)" != x86_64 ]; then
    say "NVRTC is fetched for x86-64 only; install the CUDA toolkit instead"
    return
  fi
  say "fetching NVRTC 12.9"
  mkdir -p "$folder/wheels" "$folder/unpacked"
  cat >"$folder/wheels/requirements.txt" <<'WHEELS'
nvidia-cuda-nvrtc-cu12==12.9.86 --hash=sha256:210cf05005a447e29214e9ce50851e83fc5f4358df8b453155d5e1918094dcb4
WHEELS
  if python3 -m pip download --quiet --no-deps --require-hashes --dest "$folder/wheels" \
    -r "$folder/wheels/requirements.txt"; then
    for wheel in "$folder"/wheels/*.whl; do
      python3 -m zipfile -e "$wheel" "$folder/unpacked"
    done
    for library in libnvrtc-builtins.so.12.9 libnvrtc.so.12; do
      mv "$folder/unpacked/nvidia/cuda_nvrtc/lib/$library" "$folder/$library"
    done
  else
    say "NVRTC could not be fetched from PyPI; tests that compile CUDA will be skipped"
  fi
  rm -rf "$folder/wheels" "$folder/unpacked"
}
fetch_wheels() {
  if [ "$peers" = 1 ]; then fetch_onednn3; fi
  if [ "$nvrtc" = 1 ]; then fetch_nvrtc; fi
}

installed() {
  case $(dpkg-query -W -f '${Status}' "$1" 2>/dev/null) in
  "install ok installed") return 0 ;;
  esac
  return 1
}
available() {
  apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [^(]'
}

# The sanitizers' libraries: a package of clang's version, which clang itself only recommends.
clang_runtime() {
  version=$(clang --version 2>/dev/null | sed -n '1s/.*version \([0-9][0-9]*\).*/\1/p')
  if [ -z "$version" ]; then
    version=$(apt-cache depends clang 2>/dev/null |
      sed -n 's/.*Depends: clang-\([0-9][0-9]*\)$/\1/p' | head -1)
  fi
  if [ -n "$version" ]; then echo "libclang-rt-$version-dev"; fi
}

missing_packages() {
  missing=
  for package in $needed $wanted $(clang_runtime); do
    installed "$package" || missing="$missing $package"
  done
  have_llvm=0
  for package in $llvm_choices; do
    if installed "$package"; then have_llvm=1; fi
  done
}

missing_packages
if [ -z "$missing" ] && [ "$have_llvm" = 1 ]; then
  say "everything is installed"
  fetch_wheels
  exit 0
fi
if [ "$check_only" = 1 ]; then
  [ "$have_llvm" = 1 ] || missing="$missing ${llvm_choices%% *}"
  say "missing:$missing"
  for package in $needed; do
    installed "$package" || exit 1
  done
  exit 0
fi

as_root=
if [ "$(id -u)" != 0 ]; then
  if command -v sudo >/dev/null 2>&1; then
    as_root=sudo
  else
    [ "$have_llvm" = 1 ] || missing="$missing ${llvm_choices%% *}"
    say "not root and no sudo; run as root: apt-get install$missing"
    exit 1
  fi
fi
apt_get() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 "$@"
}

# The package lists are fetched only when they do not know a package that is missing.
unknown=0
for package in $missing; do
  available "$package" || unknown=1
done
if [ "$have_llvm" = 0 ] && ! available "${llvm_choices%% *}"; then unknown=1; fi
if [ "$unknown" = 1 ]; then
  say "fetching the package lists"
  apt_get update || say "apt-get update failed; going on with the lists that are there"
  missing_packages
fi

to_install=
for package in $missing; do
  if available "$package"; then
    to_install="$to_install $package"
  else
    say "the distribution has no package $package; going on without it"
  fi
done
if [ "$have_llvm" = 0 ]; then
  chosen=
  for package in $llvm_choices; do
    if [ -z "$chosen" ] && available "$package"; then chosen=$package; fi
  done
  if [ -n "$chosen" ]; then
    to_install="$to_install $chosen"
  else
    say "the distribution has no LLVM 17 or newer; going on without the CPU back end"
  fi
fi
if [ -n "$to_install" ]; then
  say "installing:$to_install"
  # shellcheck disable=SC2086
  if ! apt_get install -y --no-install-recommends $to_install; then
    # Lists that are older than the archive name files that are gone: once more with fresh ones.
    say "that failed; once more with fresh package lists"
    apt_get update
    # shellcheck disable=SC2086
    apt_get install -y --no-install-recommends $to_install
  fi
fi
for package in $needed; do
  installed "$package" || {
    say "$package is needed and could not be installed"
    exit 1
  }
done
fetch_wheels
say "done"
