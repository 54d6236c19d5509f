// SPDX-License-Identifier: Apache-2.0
// One file and one table of the results of several workloads on a GPU.
#pragma once

#include <string>
#include <vector>

namespace tensorsmith::bench {

/// Writes all `files` into `merged` with the date, prints the table, and puts it between the two
/// marks of `page` if there is one. Throws Error. The exit code.
int merge_results(const std::vector<std::string>& files, const std::string& merged,
                  const std::string& page);

}  // namespace tensorsmith::bench
