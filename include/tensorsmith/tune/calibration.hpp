// SPDX-License-Identifier: Apache-2.0
// Calibration: rates of this machine's core, found once and kept in the cache folder.
//
// Floor 10; compiled in lib/tune. Own design. Programs of small workloads are timed, and the rates
// are those under which the draft agrees best with them (cost/fit_rates.hpp). What probes measure
// (measure/core_probes.hpp) is told beside: rates are what programs see of it. Not here: what is
// believed without any of this (core_rates.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/core_rates.hpp"
#include "tensorsmith/measure/core_probes.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

struct MachineRates {
  std::string machine;  ///< that they hold for: machine_name()
  CoreRates rates;
  std::vector<std::string> fitted;  ///< names of rates; the others are what was believed
  std::int64_t num_programs = 0;    ///< that were timed
  /// Variance of log(time / draft) within workloads, before and after.
  double error_before = 0, error_after = 0;
  double seconds = 0;  ///< that all of it took
  CoreProbes probes;
};

/// Processor, microcode, hypervisor and width of vectors: what rates depend on.
std::string machine_name(const Target& target);
/// The same as 16 hexadecimal digits: records carry it, and the file of rates has it in its name.
std::string machine_fingerprint(const Target& target);

/// Takes about `seconds`, on a machine that should have nothing else to do. Error: one sentence,
/// when it was interrupted, or nothing can be measured.
Result<MachineRates, std::string> calibrate_machine(const Target& target, double seconds,
                                                    const Callback<bool()>& is_cancelled = {});

/// The file of that machine in the cache folder; empty: there is no folder.
std::string rates_file(const Target& target);
/// Errors are one sentence. A file of another machine is an error, too.
Result<MachineRates, std::string> read_rates(const std::string& path, const Target& target);
Result<Done, std::string> write_rates(const std::string& path, const MachineRates& rates);

/// `target` with the rates that were kept for this machine, if there are any.
Target with_kept_rates(Target target);

}  // namespace tensorsmith
