// SPDX-License-Identifier: Apache-2.0
// The precompiled header of the test programs: Catch2 and the headers that most of them share.
//
// Test support. A source still includes what it uses.
#pragma once

#include "support/catch.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/te/eval_dag.hpp"
#include "tensorsmith/te/program.hpp"
