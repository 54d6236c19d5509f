// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// tensorsmith-worker: runs candidate kernels for a measurer, in a process that may die of them.
#include "tensorsmith/measure/worker_program.hpp"

int main(int argc, char** argv) { tensorsmith::run_worker(argc, argv); }
