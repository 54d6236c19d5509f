#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the commands of README.md and docs/, in order, each page in a folder of its own.
#   scripts/run_doc_commands.sh BIN        BIN: the folder of the programs
#   scripts/run_doc_commands.sh --list     what would be run, after all replacements
#   scripts/run_doc_commands.sh --self-test
# A command is a line of a code block that begins with tensorsmith, bench_..., scripts/, or a compiler
# or cmake. Budgets are cut (what takes minutes is not what is tested), words that stand for something (WORKLOAD, NETWORK,
# model.onnx ...) are replaced. "# prints: TEXT" behind a command: a line of its output is TEXT.
# Left out, each with its reason: what installs or builds (scripts/, cmake), what needs a compiler or a
# GPU that is not here, and what reads files that a stranger has and this folder has not.
set -eu

# commands ROOT: lines "PAGE<TAB>COMMAND<TAB>TEXT THAT IT PRINTS"
commands() {
  (
    cd "$1"
    find README.md docs -name '*.md' | LC_ALL=C sort | xargs awk '
      FNR == 1 { open = 0 }
      /^```/ { open = !open; is_shell = $0 ~ /^```(sh|console)?$/; next }
      {
        line = $0
        if (held != "") { sub(/^ +/, " ", line); line = held line; held = "" }
        else if (open ? !is_shell : line !~ /^    /) next
        sub(/^ +/, "", line); sub(/^\$ /, "", line)
        if (line !~ /^(tensorsmith|bench_[a-z_]+|scripts\/[a-z_]+\.sh|cmake|c\+\+|nvcc|aarch64-linux-gnu-g\+\+)( |$)/) next
        if (line ~ /\\$/) { held = substr(line, 1, length(line) - 1); next }
        printed = ""
        if (match(line, / # prints: /)) printed = substr(line, RSTART + RLENGTH)
        sub(/ +# .*/, "", line)
        sub(/   +.*/, "", line)  # prose in a second column
        print FILENAME "\t" line "\t" printed
      }'
  )
}
# Budgets and placeholders.
replaced() {
  without_gpu=b  # what was compiled is run as well
  [ -e /dev/nvidiactl ] || without_gpu='s/ && .*//'
  sed -E \
    -e 's/(--seconds|--tune-seconds) [0-9.]+/\1 1/g' \
    -e 's/--trials [1-9][0-9]*/--trials 8/g; s/--programs [0-9]+/--programs 6/g; s/--pairs [0-9]+/--pairs 5/g' \
    -e 's/\bWORKLOAD\b/gemm:32x32x32:f32/g; s/\b(NETWORK|model\.onnx)\b/example:cnn/g; s/\bBOARD\b/sim:a100/g' \
    -e 's/^(tensorsmith tune .*)$/\1 --quiet/' \
    -e '/^tensorsmith tune /{/--(trials|seconds|list|tasks)/!s/$/ --trials 8/}' \
    -e "/^nvcc /$without_gpu" \
    -e '/^tensorsmith network tune /{/--seconds/!s/$/ --seconds 1/}'
}
# Why a command is left out; nothing: it is run.
reason_against() {
  case $1 in
  scripts/* | cmake*) echo "installs or builds" ;;
  *"--target cuda"*) [ -e /dev/nvidiactl ] || echo "needs a GPU" ;;
  bench_gpu*) [ -e /dev/nvidiactl ] || echo "needs a GPU" ;;
  bench_page* | bench_versus* | bench_methods*) echo "takes minutes, or writes pages that the tests performance_page and versus_page compare" ;;
  *FILE* | *DIR* | *...*) echo "is a form, not a command" ;;
  *)
    case ${1%% *} in
    nvcc | c++ | aarch64-linux-gnu-g++)
      command -v "${1%% *}" >/dev/null || echo "there is no ${1%% *}"
      ;;
    esac
    case $1 in *"&& qemu-aarch64 "*) command -v qemu-aarch64 >/dev/null || echo "there is no qemu-aarch64" ;; esac
    for word in $1; do
      case $word in
      program.cpp) [ -e "$word" ] || echo "reads $word" ;;
      @*) [ -e "${word#@}" ] || echo "reads ${word#@}" ;;
      *.tsmodel | *.json | *.jsonl | *.npz)
        case $1 in
        *"--output $word"* | *"--json $word"* | *"--save-model $word"*) ;;
        *) [ -e "$word" ] || echo "reads $word" ;;
        esac
        ;;
      esac
    done | head -1
    ;;
  esac
}

# run_all ROOT BIN
run_all() {
  root=$1 bin=$2
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
  commands "$root" >"$dir/commands"
  [ -s "$dir/commands" ] || {
    echo "run_doc_commands: no command was found"
    return 1
  }
  PATH=$bin:$PATH
  XDG_CACHE_HOME=$dir/cache
  export PATH XDG_CACHE_HOME
  unset TENSORSMITH_WORKER || true
  num_run=0 num_failed=0
  tab=$(printf '\t')
  while IFS="$tab" read -r page command printed <&3; do
    folder=$dir/run/$(echo "$page" | tr '/.' '__')
    [ -d "$folder" ] || {
      mkdir -p "$folder"
      cp "$root/tests/data/docs/"* "$folder" 2>/dev/null || true
    }
    command=$(echo "$command" | replaced)
    reason=$(cd "$folder" && reason_against "$command")
    if [ -n "$reason" ]; then
      echo "left out ($reason): $page: $command"
      case $command in
      scripts/*) [ -x "$root/${command%% *}" ] || {
        echo "FAILED, no such script: $page: $command"
        num_failed=$((num_failed + 1))
      } ;;
      esac
      continue
    fi
    num_run=$((num_run + 1))
    if ! (cd "$folder" && eval "$command") >"$dir/output" 2>&1; then
      echo "FAILED: $page: $command"
      head -c 2000 "$dir/output"
      num_failed=$((num_failed + 1))
    elif [ -n "$printed" ] && ! grep -qxF -- "$printed" "$dir/output"; then
      echo "FAILED, does not print '$printed': $page: $command"
      head -c 2000 "$dir/output"
      num_failed=$((num_failed + 1))
    else
      echo "ok: $page: $command"
    fi
  done 3<"$dir/commands"
  echo "$num_run commands run, $num_failed failed"
  [ "$num_failed" = 0 ]
}

root=$(cd "$(dirname "$0")/.." && pwd)
case ${1-} in
--list) commands "$root" | replaced ;;
--self-test)
  test=$(mktemp -d)
  trap 'rm -rf "$test"' EXIT
  mkdir -p "$test/docs" "$test/bin"
  printf '#!/bin/sh\necho hello; [ "$1" != bad ]\n' >"$test/bin/tensorsmith"
  chmod +x "$test/bin/tensorsmith"
  expect() { # VERDICT TEXT-OF-THE-PAGE
    printf '%b' "$2" >"$test/README.md"
    if (run_all "$test" "$test/bin") >/dev/null; then verdict=accepted; else verdict=rejected; fi
    [ "$verdict" = "$1" ] || {
      echo "self-test: $2 was $verdict"
      exit 1
    }
  }
  expect accepted '```\ntensorsmith good   prose\n```\n'
  expect accepted '```\ntensorsmith good # prints: hello\n```\n'
  expect rejected '```\ntensorsmith good # prints: hell\n```\n'
  expect rejected '```\ntensorsmith bad\n```\n'
  expect accepted '```\ntensorsmith good\nc++ --version\n```\n'
  expect rejected '```\nc++ nothing.cpp\n```\n'
  expect rejected '```\nbench_nothing\n```\n'
  expect rejected '    tensorsmith bad\n'
  expect rejected '```\nscripts/nothing.sh\n```\n'
  expect rejected 'no command at all\n'
  echo "run_doc_commands: self-test passed"
  ;;
'')
  echo "usage: run_doc_commands.sh BIN | --list | --self-test" >&2
  exit 2
  ;;
*) run_all "$root" "$(cd "$1" && pwd)" ;;
esac
