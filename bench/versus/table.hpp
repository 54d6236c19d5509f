// SPDX-License-Identifier: Apache-2.0
// The table of a page from reports of bench_versus.
//
// Own design. Not here: measuring (main.cpp).
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tensorsmith::bench {

using Json = nlohmann::ordered_json;

/// One line of the table, with its line end.
std::string table_row(const Json& entry);

/// Writes what the reports say between the marks of the page; `checks`: only says whether it would
/// change. Returns 0, or 1 if it would. Throws std::runtime_error for files that cannot be used.
int write_page(const std::string& page, std::vector<std::string> reports, bool checks);

}  // namespace tensorsmith::bench
