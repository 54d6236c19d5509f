// SPDX-License-Identifier: Apache-2.0
#include "report/html_text.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "report/page_style.hpp"

namespace tensorsmith {
namespace {

std::string row(std::initializer_list<Cell> cells, const char* tag) {
  std::string html = "<tr>";
  for (const Cell& cell : cells) {
    html += std::string("<") + tag + (cell.kind == CellKind::text ? ">" : " class=\"n\">");
    html += cell.kind == CellKind::number_markup ? cell.content : escape_html(cell.content);
    html += std::string("</") + tag + ">";
  }
  return html + "</tr>\n";
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string html;
  html.reserve(text.size());
  for (const char c : text) {
    switch (c) {
    case '&':
      html += "&amp;";
      break;
    case '<':
      html += "&lt;";
      break;
    case '>':
      html += "&gt;";
      break;
    case '"':
      html += "&quot;";
      break;
    case '\'':
      html += "&#39;";
      break;
    default: {
      const auto byte = static_cast<unsigned char>(c);
      html += (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f ? ' ' : c;
    }
    }
  }
  return html;
}

std::string number_text(double value, int decimals) {
  if (!std::isfinite(value)) {
    return "-";
  }
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string time_text(double ns) {
  return ns < 1e3   ? number_text(ns, 0) + " ns"
         : ns < 1e6 ? number_text(ns / 1e3, 2) + " us"
         : ns < 1e9 ? number_text(ns / 1e6, 3) + " ms"
                    : number_text(ns / 1e9, 3) + " s";
}

std::string table_head(std::initializer_list<Cell> cells) { return row(cells, "th"); }
std::string table_row(std::initializer_list<Cell> cells) { return row(cells, "td"); }

std::string plural(std::size_t count, const std::string& word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

std::string paragraph(const std::string& text, const char* kind) {
  return std::string("<p class=\"") + kind + "\">" + escape_html(text) + "</p>\n";
}

std::string fact(const std::string& value, const std::string& name) {
  return "<div class=\"fact\"><b>" + escape_html(value) + "</b><span>" + escape_html(name) +
         "</span></div>\n";
}

std::string table(const std::string& rows) {
  return "<div class=\"scroll\"><table>\n" + rows + "</table></div>\n";
}

std::string details(const std::string& title, const std::string& text, bool is_open) {
  return std::string("<details") + (is_open ? " open" : "") + "><summary>" + escape_html(title) +
         "</summary><pre>" + escape_html(text) + "</pre></details>\n";
}

std::string page_begin(const std::string& title) {
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<title>";
  html += escape_html(title) + "</title>\n<style>";
  html += page_style;
  return html + "</style>\n</head>\n<body>\n<h1>" + escape_html(title) + "</h1>\n";
}
std::string page_end() { return "</body>\n</html>\n"; }

}  // namespace tensorsmith
