// SPDX-License-Identifier: Apache-2.0
// What a file is that holds no records of ours: logs of TVM's other tuners.
//
// Floor 6; compiled in lib/record. AutoTVM's logs and MetaSchedule's databases lie beside Ansor's
// and have the same endings. Their schedules are choices of a template's knobs, or traces of
// another language of schedules: no steps of ours say the same, so they are told by their names and
// not read.
#pragma once

#include <string>
#include <string_view>

namespace tensorsmith {

/// Half a sentence that follows the file's name, "is a log of AutoTVM (37 records), ..."; empty if
/// it is neither. Looks at the first line that is no comment, and counts lines like it.
std::string describe_foreign_log(std::string_view text);

}  // namespace tensorsmith
