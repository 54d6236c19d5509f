// SPDX-License-Identifier: Apache-2.0
// Small pieces of HTML: escaped text, numbers with a unit, tables, the frame of a page.
//
// Private to lib/report and tests. Own design. Not here: what the page says.
#pragma once

#include <cstddef>
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

/// "1 trial", "2 trials".
std::string plural(std::size_t count, const std::string& word);
/// Text is escaped in all of these, rows of a table are not. `kind`: class of the style sheet.
std::string paragraph(const std::string& text, const char* kind = "soft");
/// A number in large type above what it is.
std::string fact(const std::string& value, const std::string& name);
std::string table(const std::string& rows);
/// Text that is folded away.
std::string details(const std::string& title, const std::string& text, bool is_open);

/// All of a page up to its first paragraph, and all behind its last one.
std::string page_begin(const std::string& title);
std::string page_end();

}  // namespace tensorsmith
