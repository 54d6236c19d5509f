#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a public header costs whoever includes it: preprocessed lines (g++ -E -P).
#   scripts/check_budgets.sh [ROOT] [--list]   --list prints every header's figure
#   scripts/check_budgets.sh --self-test       proves that it can fail
set -eu

# The limits of the plan, with exceptions by name for the headers of a low floor that cannot keep
# 28,000: their own code comes on top of <string>, <vector>, <variant> and <optional>, which are
# 26,000 lines with g++ 12 (docs/decisions/0002-header-budgets.md). An exception is the largest
# header of its group plus 1 %: a new include shows, and whoever adds it decides. First match counts.
# Definitions (X_body.hpp, docs/decisions/0011-compiled-once.md) have the limit of their header.
budget_of() {
  case $1 in
  *_body.hpp) set -- "${1%_body.hpp}.hpp" ;;
  esac
  case $1 in
  tensorsmith/fwd.hpp | tensorsmith/version.hpp | tensorsmith/codegen/kernel_abi.hpp) echo 3000 ;;
  tensorsmith/tensorsmith.hpp) echo 60000 ;;
  tensorsmith/ir/eval.hpp | tensorsmith/ir/eval_code.hpp | tensorsmith/ir/eval_machine.hpp | \
    tensorsmith/ir/eval_threads.hpp | tensorsmith/ir/simplify.hpp | tensorsmith/ir/verify.hpp | \
    tensorsmith/ir/simplify_linear.hpp) echo 28800 ;;
  # The reference's arithmetic, and bound inference, which asks it where a region is not affine.
  tensorsmith/ir/algebra/*) echo 30300 ;;
  tensorsmith/sched/bounds/expression_extents.hpp | tensorsmith/sched/bounds/range_inference.hpp | \
    tensorsmith/sched/bounds/stage_spaces.hpp) echo 33600 ;;
  tensorsmith/sched/bounds.hpp) echo 34700 ;;
  tensorsmith/ops/conv.hpp | tensorsmith/ops/definition.hpp) echo 29400 ;;
  # Index notation makes programs of te/program.hpp, and workload strings may be notation.
  tensorsmith/te/notation.hpp) echo 32700 ;;
  tensorsmith/te/notation_*) echo 32000 ;;
  tensorsmith/ops/expression.hpp) echo 33200 ;;
  tensorsmith/ops/row.hpp | tensorsmith/ops/gemm.hpp | tensorsmith/ops/pool.hpp | \
    tensorsmith/ops/pointwise.hpp | tensorsmith/ops/workload_fields.hpp | \
    tensorsmith/ops/workload_items.hpp) echo 28800 ;;
  tensorsmith/ops/workload.hpp) echo 35700 ;;
  tensorsmith/ops/workload_reader.hpp) echo 29100 ;;
  tensorsmith/sched/apply.hpp | tensorsmith/sched/replay.hpp) echo 30300 ;;
  tensorsmith/sched/schedule.hpp) echo 30700 ;;
  tensorsmith/sched/apply/cache_read.hpp | tensorsmith/sched/apply/rfactor.hpp | \
    tensorsmith/sched/bounds/loops.hpp) echo 28900 ;;
  # Sizes of formulas are checked where they are made (te/compute_dag_build.hpp).
  tensorsmith/te/eval_dag.hpp | tensorsmith/ops/*) echo 28400 ;;
  tensorsmith/sched/bounds/inference.hpp | tensorsmith/sched/bounds/propagate.hpp) echo 30000 ;;
  tensorsmith/sched/bounds/reads.hpp | tensorsmith/sched/bounds/stage_*.hpp) echo 29100 ;;
  # A step may be a hint, and a stage has a list of them.
  tensorsmith/sched/*) echo 28800 ;;
  # Drafts of boards look at lowered programs.
  tensorsmith/cost/draft_block.hpp | tensorsmith/cost/corrected_draft.hpp | \
    tensorsmith/cost/estimate_model.hpp) echo 45500 ;;
  tensorsmith/cost/standard_features.hpp) echo 53600 ;;
  # Formulas of features begin with the stores of a program, which the extractor finds.
  tensorsmith/search/felix/felix_policy.hpp | tensorsmith/search/felix/formula_*.hpp | \
    tensorsmith/search/felix/tile_formulas.hpp) echo 51800 ;;
  tensorsmith/search/evolutionary_policy.hpp | tensorsmith/search/analytic_seeds.hpp | \
    tensorsmith/search/seed_maker.hpp | tensorsmith/search/population/sample.hpp | \
    tensorsmith/search/drafted_seeds.hpp | tensorsmith/search/seeds_by_stage.hpp | \
    tensorsmith/search/template_of.hpp | tensorsmith/search/template_population.hpp | \
    tensorsmith/search/pruner_policy.hpp | tensorsmith/search/neighbourhood.hpp | \
    tensorsmith/search/measured_programs.hpp | tensorsmith/search/policy_options.hpp | \
    tensorsmith/search/decisions/copies.hpp | \
    tensorsmith/search/felix/tile_point.hpp | tensorsmith/search/*_sampler.hpp | \
    tensorsmith/search/seed_descent.hpp | \
    tensorsmith/search/evolution/*_mutators.hpp | tensorsmith/search/tile_templates.hpp) echo 47900 ;;
  # Candidates keep their features, whose blocks have schemas.
  tensorsmith/search/evaluator.hpp | tensorsmith/search/epsilon_greedy.hpp | \
    tensorsmith/search/felix/sketch_batch.hpp | \
    tensorsmith/search/evolution/evolve.hpp | tensorsmith/search/gpu_limits.hpp) echo 42300 ;;
  # A policy is given a space, templates and all options of a run.
  tensorsmith/tune/methods.hpp) echo 48200 ;;
  # They apply steps of every kind and infer bounds, or read what bounds say.
  tensorsmith/cost/psa_fixed.hpp | tensorsmith/search/population/draw_block_groups.hpp | \
    tensorsmith/search/population/draw_stream_k.hpp | tensorsmith/search/population/draw_copies.hpp | \
    tensorsmith/search/population/board_waves.hpp | \
    tensorsmith/search/population/thread_bind.hpp | \
    tensorsmith/search/decisions/hints.hpp | tensorsmith/search/decisions/parallel_loops.hpp | \
    tensorsmith/search/evolution/mutate_auto_unroll.hpp | \
    tensorsmith/search/population/fit_block.hpp) echo 40800 ;;
  tensorsmith/support/* | tensorsmith/target.hpp | tensorsmith/ir/* | tensorsmith/te/* | \
    tensorsmith/ops/*) echo 28000 ;;
  *) echo 40100 ;;
  esac
}

# check ROOT LIST
check() {
  status=0
  worst=0
  worst_name=
  lines=$(cd "$1/include" && find . -name '*.hpp' | sed 's|^\./||' | LC_ALL=C sort |
    xargs -P "$(nproc)" -I '{}' sh -c \
      'printf "%s %s\n" "$(echo "#include \"$1\"" | g++ -std=c++20 -E -P -I. -x c++ - | wc -l)" "$1"' _ '{}')
  while read -r count name; do
    limit=$(budget_of "$name")
    if [ "$2" = 1 ]; then echo "$count of $limit  $name"; fi
    if [ "$count" -gt "$limit" ]; then
      echo "include/$name: $count preprocessed lines, budget $limit"
      status=1
    fi
    if [ "$count" -eq 0 ]; then
      echo "include/$name: does not preprocess"
      status=1
    fi
    if [ "$count" -gt "$worst" ]; then
      worst=$count
      worst_name=$name
    fi
  done <<LINES
$lines
LINES
  return "$status"
}

if [ "${1-}" = --self-test ]; then
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
  mkdir -p "$dir/include/tensorsmith/ir"
  printf '#pragma once\nstruct Small;\n' >"$dir/include/tensorsmith/fwd.hpp"
  check "$dir" 0 || {
    echo "self-test: a small header was rejected"
    exit 1
  }
  printf '#pragma once\n#include <string>\n' >"$dir/include/tensorsmith/fwd.hpp"
  if check "$dir" 0 >/dev/null; then
    echo "self-test: a forward header that includes <string> was accepted"
    exit 1
  fi
  printf '#pragma once\nstruct Small;\n' >"$dir/include/tensorsmith/fwd.hpp"
  awk 'BEGIN { for (i = 0; i < 28001; ++i) print "int v" i ";" }' >"$dir/include/tensorsmith/ir/a.hpp"
  if check "$dir" 0 >/dev/null; then
    echo "self-test: a low floor above its budget was accepted"
    exit 1
  fi
  echo "check_budgets: self-test passed"
  exit 0
fi

list=0
root=$(dirname "$0")/..
for argument in "$@"; do
  case $argument in
  --list) list=1 ;;
  *) root=$argument ;;
  esac
done
if ! command -v g++ >/dev/null 2>&1; then
  echo "check_budgets: needs g++" >&2
  exit 1
fi
check "$root" "$list" || exit 1
echo "check_budgets: ok, largest is $worst_name with $worst lines"
