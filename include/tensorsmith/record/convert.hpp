// SPDX-License-Identifier: Apache-2.0
// Records of our journal and of the Ansor reference's logs, one made from the other.
//
// Floor 6; compiled in lib/record. A journal holds all that a log says, so a log becomes the same
// log again. A log has no place for what a journal says of its run (cpu, space, policy, seed,
// round, trial, median, message): from a journal to a log and back these are lost.
#pragma once

#include <string>

#include "tensorsmith/record/ansor_log.hpp"
#include "tensorsmith/record/record.hpp"

namespace tensorsmith {

/// Workload and key are the log's key, the target its text; space "ansor", policy "ansor". The
/// times of a success are the least and the median cost; it counts as not verified, for the
/// reference does not look at results. What else the log says is in Record::log.
Record record_from_ansor(const AnsorRecord& record);

/// Of a record that came from a log, what the log said. Else the cost is the least time, the number
/// of threads stands as the number of cores, and the target gets the reference's form:
///     znver4         llvm -keys=cpu -mcpu=znver4
///     host           llvm -keys=cpu -model=<Record::cpu, spaces as '-'>
///     sm_80, h200    cuda -keys=cuda,gpu -arch=sm_80 ..., with -model=h200
///     sim:a100       the same with -model=sim:a100, so that estimates stay apart from measurements
AnsorRecord record_to_ansor(const Record& record);

}  // namespace tensorsmith
