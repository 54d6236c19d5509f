// SPDX-License-Identifier: Apache-2.0
// Lesson 5: tune a convolution from its workload string, keep the journal, come back to it later
// without a measurement, and export the best schedule as C++.
// requires: llvm json
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tensorsmith/codegen/cpp_source.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/tensorsmith.hpp"

namespace ts = tensorsmith;

static void require(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
  }
}

int main() {
  const auto parsed = ts::ops::parse_workload("conv2d:n=1,h=14,w=14,ci=8,co=16,k=3,s=1,p=1,relu");
  require(parsed.has_value(), "the workload string is right");
  const ts::ops::Workload& conv = *parsed;

  const char* journal = "example_05_journal.jsonl";
  std::remove(journal);
  const ts::TuneTask task{conv.dag, ts::host_target(), conv.name, conv.nominal_flop};
  ts::TuneOptions options;
  options.budget = {0, 24};
  options.database = journal;  // every trial, failures included, one line each
  const ts::TuneResult result = ts::tune(task, options);
  require(result.has_best(), "a candidate is right and measured");
  std::printf("%s\n", result.explain().c_str());

  // Another day: the best schedule of the file, replayed and lowered again. Nothing is measured.
  const auto contents = ts::read_journal(journal);
  require(contents.has_value() && contents->skipped.empty(), "the journal can be read");
  require(contents->records.size() == static_cast<std::size_t>(result.summary.trials),
          "every trial has its line");
  const auto best = ts::best_record(*contents, conv.name, task.target.name, 1);
  require(best.has_value() && best->is_verified, "the journal knows the best");
  const auto state = ts::replay(conv.dag, best->steps);
  require(state.has_value(), "its steps are legal");
  const auto loops = ts::lower(*state, task.target);
  require(loops.has_value(), "its state can be lowered");
  const std::string source = ts::emit_cpp_source(*loops).source;
  require(source.find("extern \"C\"") != std::string::npos, "the export can be called from C");
  std::printf("journal: %zu trials, best %.0f ns; exported: %zu bytes of C++\n",
              contents->records.size(), best->min_ns, source.size());
  std::remove(journal);
}
