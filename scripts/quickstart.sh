#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From a clone to tuned kernels: installs what is missing, builds, tunes a matrix product and a
# convolution for this CPU, and races both against oneDNN and OpenBLAS. Then it tunes a small network,
# judges its kernels, and races it against plain loops. Where there is an NVIDIA GPU the product is
# tuned for it as well.
#   scripts/quickstart.sh [--seconds S] [--threads T] [--no-setup]
# Defaults: 20 seconds per workload, 1 thread. Everything it writes is in build/.
set -eu
cd "$(dirname "$0")/.."

seconds=20
threads=1
setup=1
while [ $# -gt 0 ]; do
  case $1 in
  --seconds | --threads)
    case ${2-} in
    '' | *[!0-9]* | 0)
      echo "quickstart.sh: $1 needs a number above 0" >&2
      exit 2
      ;;
    esac
    if [ "$1" = --seconds ]; then seconds=$2; else threads=$2; fi
    shift
    ;;
  --no-setup) setup=0 ;;
  -h | --help)
    sed -n '3,8s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *)
    echo "quickstart.sh: unknown option '$1' (see --help)" >&2
    exit 2
    ;;
  esac
  shift
done

gemm=gemm:512x512x512:f32
network=example:cnn
conv=conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,layout=free
build=build/quick # compiled in half the time of build/release; kernels are LLVM's either way
bin=$build/bin
out=build/quickstart
say() { printf '\n== %s\n' "$*"; }

if [ "$setup" = 1 ]; then
  say "1/5 packages"
  nvrtc=
  if [ -e /dev/nvidiactl ] || [ -e /proc/driver/nvidia/version ]; then nvrtc=--nvrtc; fi
  scripts/setup.sh $nvrtc
fi

say "2/5 build (log: $out/build.log)"
mkdir -p "$out"
settings=-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1
if command -v clang++ >/dev/null 2>&1; then settings="$settings -DTENSORSMITH_COLD_COMPILER=clang++"; fi
targets="tensorsmith_program_tensorsmith tensorsmith_program_tensorsmith-worker bench_kernels"
# shellcheck disable=SC2086
if ! cmake --preset release -B "$build" $settings >"$out/build.log" 2>&1; then
  tail -20 "$out/build.log"
  exit 1
fi
grep '^--   ' "$out/build.log" | sed 's/^--   //'
# shellcheck disable=SC2086
if ! cmake --build "$build" --target $targets >>"$out/build.log" 2>&1; then
  grep -E -A5 'error|FAILED' "$out/build.log" | head -40
  echo "quickstart.sh: the build failed, see $out/build.log" >&2
  exit 1
fi

say "3/5 tune for this CPU: $seconds s each, $threads thread(s)"
"$bin/tensorsmith" devices
for workload in "$gemm" "$conv"; do
  printf '\n-- %s\n' "$workload"
  "$bin/tensorsmith" tune "$workload" --seconds "$seconds" --threads "$threads" \
    --db "$out/records.jsonl"
done

say "4/5 race what was found against oneDNN and OpenBLAS, in turns in one process"
if ! "$bin/bench_kernels" --shape "$gemm" --shape "$conv" --threads "$threads" \
  --records "$out/records.jsonl" --pairs 30 --json "$out/compare.json"; then
  echo "quickstart.sh: a result could not be verified, see above" >&2
  exit 1
fi
"$bin/tensorsmith" report "$gemm" "$conv" --db "$out/records.jsonl" \
  --compare "$out/compare.json" --output "$out/report.html" >/dev/null

say "5/5 a network: tuned for $seconds s, its kernels judged, raced against plain loops"
"$bin/tensorsmith" network tune "$network" --seconds "$seconds" --threads "$threads" --quiet \
  --db "$out/network.jsonl"
for step in bisect bench; do
  if ! "$bin/tensorsmith" network "$step" "$network" --threads "$threads" --db "$out/network.jsonl" \
    2>"$out/network.log"; then
    cat "$out/network.log" >&2
    echo "quickstart.sh: the network is not computed rightly, see above" >&2
    exit 1
  fi
done
"$bin/tensorsmith" network report "$network" --threads "$threads" --db "$out/network.jsonl" \
  --output "$out/network.html" >/dev/null

gpu_status=0
if "$bin/tensorsmith" devices --json | grep -q '"target":"cuda:0"'; then
  say "and for the GPU: $seconds s"
  "$bin/tensorsmith" tune "$gemm" --target cuda --seconds "$seconds" --db "$out/gpu.jsonl" ||
    gpu_status=$?
fi

say "done"
echo "programs:   $PWD/$bin (cmake --preset release builds those that search faster)"
echo "records:    $PWD/$out/records.jsonl (every trial, one JSON object a line)"
echo "comparison: $PWD/$out/compare.json (ratio = their time / ours, above 1 means we are faster)"
echo "report:     $PWD/$out/report.html (open it in a browser)"
echo "network:    $PWD/$out/network.html (its kernels, tasks, and how its time fell while tuning)"
if [ -e "$out/gpu.jsonl" ]; then
  echo "GPU:        $PWD/$out/gpu.jsonl (its trials; tensorsmith export $gemm --target cuda --db ... writes the .cu)"
fi
exit $gpu_status
