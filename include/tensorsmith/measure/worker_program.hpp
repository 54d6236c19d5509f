// SPDX-License-Identifier: Apache-2.0
// run_worker: the program that measurers start: it runs candidates, in a process that may die of
// them.
//
// Floor 6; compiled in lib/worker. Own design. A program of one's own may be the worker of a
// program of one's own (WorkerOptions::worker_path): it calls this first thing in main. Both must
// come from one build.
#pragma once

namespace tensorsmith {

/// Serves whoever started the program until the connection ends, then ends the process. By hand, it
/// says what it is and ends.
[[noreturn]] void run_worker(int argc, char** argv);

}  // namespace tensorsmith
