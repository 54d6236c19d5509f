#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and runs every test that this machine can run.
#   scripts/test.sh                everything
#   scripts/test.sh --quick        checks and the release build only
#   scripts/test.sh --legs A,B     some of: checks release asan-ubsan tsan no-backends gpu
#   scripts/test.sh --no-setup     installs nothing
# Idempotent; the builds live in build/<preset>, benchmarks in them are no good to measure with until
# cmake --preset release. The last line is 'N passed, N failed, N skipped'
# (test cases of the Catch programs, other tests and checks one each); exit code 1 on any failure.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

legs="checks release asan-ubsan tsan no-backends gpu"
setup=1
while [ $# -gt 0 ]; do
  case $1 in
  --quick) legs="checks release" ;;
  --legs)
    legs=${2-}
    legs=${legs//,/ }
    shift
    ;;
  --no-setup) setup=0 ;;
  -h | --help)
    sed -n '3,10s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *)
    echo "test.sh: unknown option '$1' (see --help)" >&2
    exit 2
    ;;
  esac
  shift
done
for leg in $legs; do
  case $leg in
  checks | release | asan-ubsan | tsan | no-backends | gpu) ;;
  *)
    echo "test.sh: unknown leg '$leg' (see --help)" >&2
    exit 2
    ;;
  esac
done

jobs=$(nproc)
# The compiler needs up to 3 GB for the largest sources: fewer at once where memory is short.
memory_gb=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
if [ "$memory_gb" -gt 0 ] && [ $((jobs * 3)) -gt "$memory_gb" ]; then
  jobs=$((memory_gb / 3))
  [ "$jobs" -ge 1 ] || jobs=1
fi
logs=build/test-logs
mkdir -p "$logs"
: >"$logs/failures.log"
export CTEST_OUTPUT_ON_FAILURE=1

passed=0
failed=0
failures=() # what failed, one line each
skips=()    # what was skipped and why, one line each
note_failure() {
  failures+=("$1")
  failed=$((failed + 1))
}
note_skip() { skips+=("$1"); }
say() { printf '\n== %s\n' "$*"; }
# What a failure printed, shown at once and again below the summary, where a long run is read.
show() { tee -a "$logs/failures.log"; }

# run_check NAME COMMAND...: exit code 77 means skipped, with the reason on the last line.
run_check() {
  local name=$1 log status
  shift
  log="$logs/${name//[ \/]/_}.log"
  "$@" >"$log" 2>&1
  status=$?
  if [ "$status" = 0 ]; then
    passed=$((passed + 1))
    echo "ok      $name"
  elif [ "$status" = 77 ]; then
    note_skip "$name: $(tail -1 "$log")"
    echo "skipped $name"
  else
    note_failure "$name (see $log)"
    echo "FAILED  $name"
    tail -25 "$log" | show
  fi
}

# count_junit FILE: prints "passed failed" and, as lines "fail NAME" and "skip NAME REASON", what
# went wrong. A Catch program counts with its test cases.
count_junit() {
  awk '
    function flush() {
      if (name == "") return
      if (status == "notrun" || status == "disabled") {
        printf "skip %s: %s\n", name, reason == "" ? "not run" : reason
      } else if (status == "fail") {
        if (case_failed > 0) { ok += case_passed; bad += case_failed }
        else ++bad
        print "fail " name
      } else {
        ok += cases > 0 ? cases : 1
      }
      ok -= case_skipped
    }
    /<testcase / {
      flush()
      name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name)
      status = $0; sub(/.* status="/, "", status); sub(/".*/, "", status)
      cases = case_passed = case_failed = case_skipped = 0
      reason = ""
    }
    /<skipped message="/ { reason = $0; sub(/.*message="/, "", reason); sub(/".*/, "", reason) }
    /All tests passed \(/ && / in [0-9]+ test case/ {
      text = $0; sub(/.* in /, "", text); cases += text + 0
    }
    /^test cases: / || />test cases: / {
      n = split($0, part, "|")
      for (i = 1; i <= n; ++i) {
        if (part[i] ~ /passed/) case_passed = part[i] + 0
        if (part[i] ~ /failed/) case_failed = part[i] + 0
      }
      cases = case_passed + case_failed
    }
    /tensorsmith-skip: / {
      text = $0; sub(/.*tensorsmith-skip: /, "", text)
      print "skip " name ": " text
      ++case_skipped
    }
    END { flush(); printf "%d %d\n", ok, bad }' "$1"
}

# configure_and_build PRESET [-DSETTING...] [TARGET...]
configure_and_build() {
  local preset=$1 log="$logs/$1-build.log" settings=()
  shift
  while [[ ${1-} == -D* ]]; do
    settings+=("$1")
    shift
  done
  if ! cmake --preset "$preset" -DTENSORSMITH_RUN_ONCE=ON "${settings[@]}" >"$log" 2>&1; then
    tail -30 "$log"
    note_failure "$preset: cmake --preset $preset (see $log)"
    return 1
  fi
  # A part that cmake left out is a skip with its reason; said once, for the build that has it all.
  [ "$preset" = release ] && while IFS= read -r line; do
    note_skip "$preset: ${line#--   }"
  done < <(grep -E '^--   (.*not found: install|.*without the sources|(program|example|bench|unit|test).*left out)' "$log")
  local targets=()
  [ $# -gt 0 ] && targets=(--target "$@")
  if ! cmake --build --preset "$preset" -j "$jobs" "${targets[@]}" -- -k 0 >>"$log" 2>&1; then
    grep -E -A5 'error:|FAILED:|undefined reference' "$log" | grep -v -e ' -c /' | cut -c1-400 | head -60 | show
    note_failure "$preset: build (see $log)"
    return 1
  fi
}

# run_ctest PRESET CTEST_ARGUMENTS...
run_ctest() {
  local preset=$1 junit line before_passed=$passed before_failed=$failed
  shift
  junit="$PWD/$logs/$preset.xml"
  rm -f "$junit"
  ${wrapper-} ctest --test-dir "build/$preset" -j "$jobs" --no-tests=error \
    --output-junit "$junit" "$@" >"$logs/$preset-ctest.log" 2>&1
  local status=$?
  if [ ! -f "$junit" ]; then
    tail -5 "$logs/$preset-ctest.log"
    note_failure "$preset: ctest did not run (see $logs/$preset-ctest.log)"
    return
  fi
  while IFS= read -r line; do
    case $line in
    "fail "*) failures+=("$preset: ${line#fail } (see $logs/$preset-ctest.log)") ;;
    "skip "*) note_skip "$preset: ${line#skip }" ;;
    *)
      passed=$((passed + ${line% *}))
      failed=$((failed + ${line#* }))
      ;;
    esac
  done < <(count_junit "$junit")
  if [ "$status" != 0 ]; then
    if [ "$failed" = "$before_failed" ]; then
      note_failure "$preset: ctest ended with $status (see $logs/$preset-ctest.log)"
    fi
    grep -E -B2 -A25 'FAILED:|Exception|SUMMARY:|Timeout' "$logs/$preset-ctest.log" | head -80 | show
  fi
  echo "$preset: $((passed - before_passed)) passed, $((failed - before_failed)) failed"
}

# has_tests PRESET LABEL. (Not `ctest | grep -q`: grep ends at the first line, and ctest, which cannot
# write the others, would fail.)
has_tests() {
  local listed
  listed=$(ctest --test-dir "build/$1" -N -L "^$2\$" 2>/dev/null)
  [[ $listed == *"Test "*"#"* ]]
}

has_gpu() { [ -e /dev/nvidiactl ] || [ -e /proc/driver/nvidia/version ]; }

leg_checks() {
  local name strict_compiler=
  # The headers alone by clang, which warns of more; g++ compiles them with the library.
  if command -v clang++ >/dev/null 2>&1; then strict_compiler=clang++; fi
  run_check "check_format --spdx" scripts/check_format.sh --spdx
  for name in includes headers budgets sizes format docs; do
    run_check "check_$name self-test" "scripts/check_$name.sh" --self-test
    run_check "check_$name" env ${strict_compiler:+CXX=$strict_compiler} "scripts/check_$name.sh"
  done
  run_check "run_doc_commands self-test" scripts/run_doc_commands.sh --self-test
  run_check "generate_feature_table self-test" scripts/generate_feature_table.sh --self-test
  run_check "generate_feature_table" scripts/generate_feature_table.sh --check
}
leg_release() {
  # The library, its command and the examples by the compiler that users have; what tests them by
  # clang, which takes half the time. Unit tests that the sanitizers' leg runs as a whole are left to
  # it, but for those that need a GPU.
  local test_compiler='' unit_tests=ON
  test_compiler=$(command -v clang++)
  if [ -n "$test_compiler" ] && [[ " $legs " == *" asan-ubsan "* ]] && ! has_gpu; then
    unit_tests=OFF
  fi
  # More sources at a time than where one of them is worked on: a sixth less for the library.
  configure_and_build release "-DTENSORSMITH_TEST_COMPILER=$test_compiler" \
    "-DTENSORSMITH_UNIT_TESTS=$unit_tests" -DCMAKE_UNITY_BUILD_BATCH_SIZE=32 || return
  # The other builds are by clang, with warnings as errors; users' own build has them as warnings.
  if grep -q 'warning: ' "$logs/release-build.log"; then
    grep -A5 'warning: ' "$logs/release-build.log" | head -60 | show
    note_failure "release: warnings (see $logs/release-build.log)"
  fi
  run_ctest release -LE '^gpu$'
}
# The build by clang is the one with the sanitizers.
needs_clang() {
  command -v clang++ >/dev/null 2>&1 && return
  note_skip "$1: no clang++ here"
  return 1
}
leg_asan_ubsan() {
  needs_clang asan-ubsan || return
  export ASAN_OPTIONS=${ASAN_OPTIONS-detect_leaks=1:strict_string_checks=1:malloc_context_size=10}
  export UBSAN_OPTIONS=${UBSAN_OPTIONS-print_stacktrace=1}
  configure_and_build asan-ubsan tensorsmith_unit_tests && run_ctest asan-ubsan -L '^unit$' -LE '^gpu$'
}
leg_tsan() {
  needs_clang tsan || return
  configure_and_build tsan tensorsmith_thread_tests || return
  if ! has_tests tsan threads; then
    note_skip "tsan: no test is tagged [threads]"
    return
  fi
  # With more random bits in addresses than it knows of, ThreadSanitizer stops at start-up.
  local wrapper=
  if setarch "$(uname -m)" -R true 2>/dev/null; then wrapper="setarch $(uname -m) -R"; fi
  export TSAN_OPTIONS=${TSAN_OPTIONS-halt_on_error=1}
  run_ctest tsan -L '^threads$'
}
leg_no_backends() {
  # clang takes a third of g++'s time without optimisation.
  local compiler=
  compiler=$(command -v clang++) || compiler=$(command -v c++)
  # CMake changes the compiler of a build, but forgets its settings.
  if ! grep -qx "CMAKE_CXX_COMPILER:[A-Z]*=$compiler" build/no-backends/CMakeCache.txt 2>/dev/null; then
    rm -rf build/no-backends/CMakeCache.txt build/no-backends/CMakeFiles
  fi
  configure_and_build no-backends "-DCMAKE_CXX_COMPILER=$compiler" \
    tensorsmith_core_tests tensorsmith_examples &&
    run_ctest no-backends -L '^(core|examples)$'
}
leg_gpu() {
  # The script itself is tested on a GPU that is not there.
  local bin=build/release/bin
  if [ -x $bin/bench_gpu ] && [ -e $bin/libtensorsmith_fake_cuda.so ]; then
    run_check "gpu_check --dry" scripts/gpu_check.sh --dry
  else
    note_skip "gpu_check --dry: needs the release build with tests"
  fi
  if ! has_gpu; then
    note_skip "gpu: no NVIDIA driver on this machine"
    return
  fi
  if [ ! -d build/release ] || ! has_tests release gpu; then
    note_skip "gpu: no test is tagged [gpu]"
    return
  fi
  mv "$logs/release.xml" "$logs/release-without-gpu.xml" 2>/dev/null
  run_ctest release -L '^gpu$'
}

started=$SECONDS
if [ "$setup" = 1 ]; then
  say "setup"
  scripts/setup.sh --nvrtc || note_failure "scripts/setup.sh --nvrtc"
fi
for leg in $legs; do
  say "$leg"
  leg_started=$SECONDS
  "leg_${leg//-/_}"
  echo "($leg: $((SECONDS - leg_started)) s)"
done

say "summary after $((SECONDS - started)) s"
if [ ${#skips[@]} -gt 0 ]; then
  printf 'skipped: %s\n' "${skips[@]}"
fi
if [ ${#failures[@]} -gt 0 ]; then
  head -c 6000 "$logs/failures.log"
  printf 'failed: %s\n' "${failures[@]}"
fi
echo "$passed passed, $failed failed, ${#skips[@]} skipped"
[ "$failed" = 0 ]
