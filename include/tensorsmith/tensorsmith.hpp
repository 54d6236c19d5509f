// SPDX-License-Identifier: Apache-2.0
// Everything a user of the library needs: write a computation, tune it, call the kernel.
//
// The umbrella. Own design. Left out on purpose: lowering, code generation, cost models, rules and
// searches, which have their own headers for those who replace them.
#pragma once

#include "tensorsmith/fwd.hpp"
#include "tensorsmith/kernel.hpp"
#include "tensorsmith/kernel_artifact.hpp"
#include "tensorsmith/measure/measurer.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/target.hpp"
#include "tensorsmith/te/functions.hpp"
#include "tensorsmith/te/program.hpp"
#include "tensorsmith/tune.hpp"
#include "tensorsmith/version.hpp"
