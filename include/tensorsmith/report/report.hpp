// SPDX-License-Identifier: Apache-2.0
// A tuning journal as one HTML page: curve, trials by outcome, best schedule, ratios to libraries.
//
// Floor 7; compiled in lib/report. Own design. The page is one file: no script, no font, no image
// and no address outside of it. Text in, text out; not here: files, replaying schedules.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/record/record.hpp"
#include "tensorsmith/report/machine.hpp"

namespace tensorsmith {

struct ReportPeer {
  std::string name;
  std::string impl;
  double gflops = 0;
  double ratio = 0;  ///< the library's time / ours: above 1 we are faster
  double ratio_p10 = 0, ratio_p90 = 0;
};

/// One race against libraries on the same problem.
struct ReportRace {
  double gflops = 0;
  double peak_fraction = 0;   ///< 0: unknown
  std::string packing_class;  ///< "a", "b" or "c"
  bool is_verified = false;
  bool is_stable = true;  ///< the machine's peak did not move meanwhile
  int pairs = 0;
  std::vector<ReportPeer> peers;
  std::vector<std::pair<std::string, std::string>> left_out;  ///< library, reason
};

/// All trials of one workload on one target and number of threads.
struct ReportSection {
  std::string workload;
  std::string target;
  std::int32_t num_threads = 1;
  double flop = 0;              ///< of one call; 0: unknown, then calls per second are shown
  std::vector<Record> records;  ///< in the journal's order, of one run or several
  Record best;                  ///< what the schedule is of; not ok: none succeeded
  bool is_ranked = false;       ///< best is the winner of a final ranking, not the fastest trial
  std::string steps;            ///< of the best record
  std::string schedule;         ///< its state as text; empty: see `problem`
  std::string loops;
  std::string problem;  ///< why there is no schedule or no loops
  std::vector<ReportRace> races;
};

struct Report {
  std::string journal;  ///< where the records come from
  std::vector<std::string> notes;
  std::vector<ReportSection> sections;
  std::vector<ReportMachine> machines;
};

std::string html_report(const Report& report);

/// The records of each run, in order: a new run begins where the count of trials starts again.
std::vector<std::vector<Record>> runs_of(const std::vector<Record>& records);

}  // namespace tensorsmith
