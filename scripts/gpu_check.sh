#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that needs an NVIDIA GPU, in one command: correctness, ratios to libraries, trials per
# second, how well the simulated board orders programs. About 20 minutes, and nothing is begun that
# would end after 25; what is done already is not done again, so it goes on where it was ended.
#   scripts/gpu_check.sh                   all parts: build correctness speed report
#   scripts/gpu_check.sh --parts A,B       some of them
#   scripts/gpu_check.sh --target NAME     cuda:1, h200, ...; else cuda, the first GPU
#   scripts/gpu_check.sh --minutes M       searches get their share of M instead of 25
#   scripts/gpu_check.sh --fresh           forgets what is done
#   scripts/gpu_check.sh --dry             the same on a GPU that is not there (tests/fake_cuda)
# Results: bench/results/gpu-DATE-TARGET.json, and the table of docs/gpu.md. Exit code 77: no GPU; 1:
# wrong results, also where a library's differ from ours.
set -euo pipefail
cd "$(dirname "$0")/.."

parts="build correctness speed report"
target=cuda
dry=0
fresh=0
minutes=25
while [ $# -gt 0 ]; do
  case $1 in
  --parts)
    parts=${2-}
    parts=${parts//,/ }
    shift
    ;;
  --target)
    target=${2-}
    shift
    ;;
  --fresh) fresh=1 ;;
  --minutes)
    case ${2-} in
    '' | *[!0-9]*) echo "gpu_check.sh: expected a whole number of minutes, got '${2-}'" >&2 && exit 2 ;;
    esac
    minutes=$2
    shift
    ;;
  --dry) dry=1 ;;
  -h | --help)
    sed -n '3,14s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *)
    echo "gpu_check.sh: unknown option '$1' (see --help)" >&2
    exit 2
    ;;
  esac
  shift
done
for part in $parts; do
  case $part in
  build | correctness | speed | report) ;;
  *)
    echo "gpu_check.sh: unknown part '$part' (see --help)" >&2
    exit 2
    ;;
  esac
done

bin=build/release/bin
folder=build/gpu_check/${target//[^a-zA-Z0-9_]/-}
[ "$dry" = 1 ] && folder=build/gpu_check_dry && fresh=1
[ "$fresh" = 1 ] && rm -rf "$folder"
mkdir -p "$folder"
say() { printf '== %s\n' "$*"; }

# WORKLOAD SECONDS [--tf32]: the reference of a product above 2e10 operations would take longer than
# the search, so those are compared with libraries only. Attention is three programs in a row.
speed_cases="
gemm:1024x1024x1024:f32 30
gemm:2048x2048x2048:f32 40
gemm:4096x4096x4096:f32 50
gemm:8192x8192x8192:f32 50
gemm:2048x2048x2048:f32 30 --tf32
gemm:4096x4096x4096:f32 50 --tf32
gemm:2048x2048x2048:f16 40
gemm:4096x4096x4096:f16 60
gemm:4096x4096x4096:bf16 50
gemm:4096x4096x4096:i8 50
conv2d:n=16,h=56,w=56,ci=64,co=64,k=3,s=1,p=1 40
conv2d:n=16,h=14,w=14,ci=256,co=256,k=3,s=1,p=1 40
depthwise:n=16,h=56,w=56,c=144,k=3,s=1,p=1 30
softmax:8192x4096 25
layernorm:8192x4096 25
reduce_sum:8192x4096 25
attention:96x512x64 75
"
most_seconds=$((minutes * 60))
correctness_trials=16
if [ "$dry" = 1 ]; then
  fake="$PWD/$bin/libtensorsmith_fake_cuda.so"
  for library in LIBCUDA NVRTC LIBNVML LIBCUBLAS CUDNN; do export "TENSORSMITH_$library=$fake"; done
  export TENSORSMITH_LIBCUBLASLT=/nowhere/libcublasLt.so # a library that is absent is named
  export TENSORSMITH_LEASE_FOLDER="$PWD/$folder" XDG_CACHE_HOME="$PWD/$folder"
  # WORKLOAD TRIALS: of 24 trials kernels are not run, and there is no cuDNN.
  speed_cases="
gemm:256x256x256:f32 24
gemm:128x128x128:f16 24
softmax:512x256 24
gemm:64x64x32:f32 2 --tf32
gemm:64x64x32:bf16 2
gemm:64x64x32:i8 2
bmm:2x16x24x16:f32,ta 2
conv2d:n=1,h=8,w=9,ci=8,co=12,k=3,s=2,p=1 2
conv2d:n=2,h=7,w=6,ci=6,co=4,k=3,p=1,d=2,groups=2,layout=nchw 2
depthwise:n=1,h=8,w=8,c=16,k=3,s=1,p=1 2
softmax:32x48 2
layernorm:32x48 2
attention:2x16x8 3
"
  correctness_trials=2
fi

part_build() {
  [ "$dry" = 1 ] && [ -x "$bin/bench_gpu" ] && [ -e "$fake" ] && return
  say "build"
  cmake --preset release >"$folder/build.log" 2>&1 &&
    cmake --build build/release -j "$(nproc)" --target tensorsmith_program_tensorsmith \
      tensorsmith_program_tensorsmith-worker bench_gpu tensorsmith_fake_cuda \
      >>"$folder/build.log" 2>&1 || {
    tail -20 "$folder/build.log"
    exit 1
  }
}

need_gpu() {
  if ! "$bin/tensorsmith" devices --json | grep -q '"target":"cuda:0"'; then
    "$bin/tensorsmith" devices | sed -n 's/^cuda: no/gpu_check.sh: no GPU/p' >&2
    exit 77
  fi
}

# The form of every workload is tuned for a few trials, each of which is verified.
part_correctness() {
  say "correctness"
  local workload name list
  list=$("$bin/tensorsmith" tune --list --json | grep -o '"example":"[^"]*"' | cut -d'"' -f4)
  [ "$dry" = 1 ] && list="gemm:16x32x16:f32 reduce_sum:8x32"
  for workload in $list; do
    name=$folder/correct-${workload//[^a-zA-Z0-9=.-]/_}.json
    [ -s "$name" ] && continue
    "$bin/tensorsmith" tune "$workload" --target "$target" --trials "$correctness_trials" --quiet \
      --model random --param evolutionary_search_population=64 \
      --param sample_init_min_population=16 --db "$folder/correctness.jsonl" --json \
      >"$name.part" || {
      echo "gpu_check.sh: $workload cannot be tuned" >&2
      exit 1
    }
    if grep -Eq '"(wrong_result|nan_result|out_of_bounds|device_error)":' "$name.part" ||
      ! grep -q '"verified":true' "$name.part"; then
      echo "gpu_check.sh: $workload: wrong results, see $name.part" >&2
      exit 1
    fi
    mv "$name.part" "$name"
    echo "ok  $workload"
  done
}

# file_of WORKLOAD OPTIONS: where its result is.
file_of() {
  local name=$1${2// /}
  echo "$folder/speed-${name//[^a-zA-Z0-9=.-]/_}.json"
}

# bench_dry WORKLOAD TRIALS OPTIONS FILE
bench_dry() {
  local is_counted=""
  if [ "$2" -ge 24 ]; then
    is_counted="TENSORSMITH_CUDNN=/nowhere/libcudnn.so FAKE_CUDA=counted=1"
    set -- "$1" "$2" "$3 --unverified" "$4"
  fi
  # shellcheck disable=SC2086
  env FAKE_CUDA=runs=4 $is_counted "$bin/bench_gpu" --target "$target" --trials "$2" $3 \
    --output "$4" "$1"
  if [ -z "$is_counted" ] && ! { grep -q '"verified": true' "$4" &&
    grep -A1 '"same_result"' "$4" | grep -q '"cu[a-z+]*"' &&
    { [ "$3" != --tf32 ] || grep -q mma_m16n8k8_tf32 "$4"; }; }; then
    echo "gpu_check.sh: $1: not verified, or compared with no library, see $4" >&2
    exit 1
  fi
}

# A library whose results are wrong must be found.
check_skewed() {
  FAKE_CUDA=runs=4,skewed=1 "$bin/bench_gpu" --target "$target" --trials 1 \
    --output "$folder/skewed.json" gemm:16x16x16:f32
  if ! grep -q 'differs from ours' "$folder/skewed.json"; then
    echo "gpu_check.sh: wrong results of a library were not found" >&2
    exit 1
  fi
}

num_left=0
num_wrong=0
part_speed() {
  say "speed"
  local workload seconds options name
  while read -r workload seconds options; do
    [ -n "$workload" ] || continue
    name=$(file_of "$workload" "$options")
    [ "$dry" = 1 ] || seconds=$(((seconds * minutes + 24) / 25))
    if [ ! -s "$name" ] && [ "$dry" = 1 ]; then
      bench_dry "$workload" "$seconds" "$options" "$name"
    elif [ ! -s "$name" ] && [ $((SECONDS + seconds + 20)) -gt "$most_seconds" ]; then
      num_left=$((num_left + 1))
      continue
    elif [ ! -s "$name" ]; then
      # shellcheck disable=SC2086
      "$bin/bench_gpu" --target "$target" --seconds "$seconds" $options --output "$name" "$workload"
    fi
    if grep 'differs from ours' "$name" >&2; then
      num_wrong=$((num_wrong + 1))
    fi
    echo "ok  $workload${options:+ $options}"
  done <<<"$speed_cases"
  [ "$dry" = 0 ] || check_skewed
}

part_report() {
  say "report"
  local workload seconds options files=() result page
  while read -r workload seconds options; do
    if [ -n "$workload" ] && [ -s "$(file_of "$workload" "$options")" ]; then
      files+=("$(file_of "$workload" "$options")")
    fi
  done <<<"$speed_cases"
  result=bench/results/gpu-$(date -u +%F)-${target//[^a-z0-9_]/-}.json
  page=docs/gpu.md
  if [ "$dry" = 1 ]; then
    result=$folder/result.json
    page=$folder/gpu.md
    cp docs/gpu.md "$page"
  fi
  "$bin/bench_gpu" --merge "$result" --page "$page" "${files[@]}"
  echo "written: $result, $page"
}

for part in $parts; do
  [ "$part" = build ] || need_gpu
  "part_$part"
done
if [ "$num_left" -gt 0 ]; then
  echo "gpu_check.sh: time is up, $num_left cases are left; the same command goes on" >&2
fi
[ "$num_wrong" = 0 ]
