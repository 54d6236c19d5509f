// SPDX-License-Identifier: Apache-2.0
// One case of bench_kernels: tune, then race against the peers, interleaved.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/support/calibrate.hpp"
#include "bench/support/peer.hpp"

namespace tensorsmith::bench {

struct CaseOptions {
  int threads = 1;
  double tune_seconds = 20;
  int pairs = 30;
  std::uint64_t seed = 1;
  bool is_cold = false;
  std::string target = "host";  ///< or a level such as x86-64-v3 that this machine can run
  std::string space;            ///< of programs; empty: the tuner's default
  bool with_instant = false;    ///< also race what tuning without a budget gives
  std::string records;          ///< journal whose best schedule races instead of a newly tuned one
};

/// Of "A or B": A and B.
std::vector<std::string> alternatives_of(const std::string& text);

/// One entry of "cases". Of "A or B", which must take the same operands, the one that tuning found
/// to be faster races; the first says what is computed, and how exactly.
/// Throws Error for a workload that cannot be read or tuned at all.
nlohmann::ordered_json run_case(const std::string& suite, const std::string& workload,
                                const CaseOptions& options, const Roofline& roofline,
                                std::vector<FoundPeer>& peers);

}  // namespace tensorsmith::bench
