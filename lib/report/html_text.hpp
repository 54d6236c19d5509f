// SPDX-License-Identifier: Apache-2.0
// Small pieces of HTML: escaped text, numbers with a unit, tables.
//
// Private to lib/report and tests. Own design. Not here: what the page says.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace tensorsmith {

/// Text as it is, whatever it holds; control characters except line ends become spaces.
std::string escape_html(std::string_view text);

/// `decimals` digits behind the point.
std::string number_text(double value, int decimals);
/// "1.23 ms"
std::string time_text(double ns);

/// number_markup: HTML as it is, set as a number.
enum class CellKind { text, number, number_markup };
struct Cell {
  std::string content;
  CellKind kind = CellKind::text;
};
std::string table_head(std::initializer_list<Cell> cells);
std::string table_row(std::initializer_list<Cell> cells);

}  // namespace tensorsmith
