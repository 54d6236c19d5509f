#!/usr/bin/env bash
# Everything that needs an NVIDIA GPU, in one command: correctness, ratios to libraries, trials per
# second, how well the simulated board orders programs. About 20 minutes; what is done already is
# not done again, so it goes on where it was ended.
#   scripts/gpu_check.sh                   all parts: build correctness speed report
#   scripts/gpu_check.sh --parts A,B       some of them
#   scripts/gpu_check.sh --target NAME     cuda:1, h200, ...; else cuda, the first GPU
#   scripts/gpu_check.sh --fresh           forgets what is done
#   scripts/gpu_check.sh --dry             the same on a GPU that is not there (tests/fake_cuda)
# Results: bench/results/gpu-DATE-TARGET.json, and the table of docs/gpu.md. Exit code 77: no GPU.
set -euo pipefail
cd "$(dirname "$0")/.."

parts="build correctness speed report"
target=cuda
dry=0
fresh=0
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
  --dry) dry=1 ;;
  -h | --help)
    sed -n '2,10s/^# \{0,1\}//p' "$0"
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

# WORKLOAD SECONDS: the reference of a product above 2e10 operations would take longer than the
# search, so those are not verified here; their kernels are, at the smaller sizes.
speed_cases="
gemm:1024x1024x1024:f32 40
gemm:2048x2048x2048:f32 40
gemm:4096x4096x4096:f32 60
gemm:8192x8192x8192:f32 60
gemm:2048x2048x2048:f16 40
gemm:4096x4096x4096:f16 60
gemm:4096x4096x4096:bf16 60
gemm:4096x4096x4096:i8 60
conv2d:n=16,h=56,w=56,ci=64,co=64,k=3,s=1,p=1 40
conv2d:n=16,h=14,w=14,ci=256,co=256,k=3,s=1,p=1 40
depthwise:n=16,h=56,w=56,c=144,k=3,s=1,p=1 30
softmax:8192x4096 30
layernorm:8192x4096 30
reduce_sum:8192x4096 30
"
correctness_trials=16
tune_options=""
if [ "$dry" = 1 ]; then
  fake="$PWD/$bin/libtensorsmith_fake_cuda.so"
  for library in LIBCUDA NVRTC LIBNVML LIBCUBLAS; do export "TENSORSMITH_$library=$fake"; done
  export TENSORSMITH_LIBCUBLASLT=/nowhere/libcublasLt.so # a library that is absent is named
  export TENSORSMITH_LEASE_FOLDER="$PWD/$folder" XDG_CACHE_HOME="$PWD/$folder"
  speed_cases="
gemm:256x256x256:f32 0
gemm:128x128x128:f16 0
softmax:512x256 0
"
  correctness_trials=2
  tune_options="--unverified"
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

part_speed() {
  say "speed"
  local workload seconds name limit
  while read -r workload seconds; do
    [ -n "$workload" ] || continue
    name=$folder/speed-${workload//[^a-zA-Z0-9=.-]/_}.json
    [ -s "$name" ] && continue
    limit="--seconds $seconds"
    [ "$dry" = 1 ] && limit="--trials 24"
    # shellcheck disable=SC2086
    FAKE_CUDA=counted=1 "$bin/bench_gpu" --target "$target" $limit $tune_options \
      --output "$name" "$workload"
    echo "ok  $workload"
  done <<<"$speed_cases"
}

part_report() {
  say "report"
  local workload seconds files=() result page
  while read -r workload seconds; do
    [ -n "$workload" ] || continue
    files+=("$folder/speed-${workload//[^a-zA-Z0-9=.-]/_}.json")
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
