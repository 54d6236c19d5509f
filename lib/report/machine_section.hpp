// SPDX-License-Identifier: Apache-2.0
// The section of a page that says what was believed of the machines its records are of.
//
// Private to lib/report.
#pragma once

#include <span>
#include <string>

#include "tensorsmith/report/machine.hpp"

namespace tensorsmith {

/// Empty if there is no machine.
std::string machines_html(std::span<const ReportMachine> machines);

}  // namespace tensorsmith
