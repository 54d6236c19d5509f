// Records of our journal and of the Ansor reference's logs, one made from the other.
//
// Floor 6; compiled in lib/record. A journal says more (which machine, which run), a log line knows
// a layout option and every single cost; what the other side lacks is left at its default.
#pragma once

#include <string>

#include "tensorsmith/record/ansor_log.hpp"
#include "tensorsmith/record/record.hpp"

namespace tensorsmith {

/// Workload and key are the log's key, the target its text; space "ansor", policy "ansor". The
/// times of a success are the least and the median cost; it counts as not verified, for the
/// reference does not look at results.
Record record_from_ansor(const AnsorRecord& record);

/// Cost is the least time. The target becomes "llvm -keys=cpu -mcpu=<name>" unless it has that form
/// already; the number of threads stands as the number of cores.
AnsorRecord record_to_ansor(const Record& record);

}  // namespace tensorsmith
