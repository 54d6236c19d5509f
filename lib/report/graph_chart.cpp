// SPDX-License-Identifier: Apache-2.0
#include "report/graph_chart.hpp"

#include <algorithm>
#include <cmath>

#include "report/html_text.hpp"

namespace tensorsmith {
namespace {

constexpr double graph_width = 960, row_height = 22, first_y = 8;
constexpr double spine = 110;  // x of the kernels
constexpr double text_left = 124, bar_left = 640, bar_width = 200;
constexpr std::size_t longest_label = 78;

std::string px(double value) { return number_text(value, 1); }
double y_of(std::size_t row) { return first_y + row_height * (static_cast<double>(row) + 0.5); }

/// UTF-8 stays whole.
std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) {
    return text;
  }
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end) + "...";
}

std::string arc(std::size_t from, std::size_t to) {
  const double rows = static_cast<double>(to - from);
  if (to == from + 1) {
    return "<path class=\"arc\" d=\"M" + px(spine) + " " + px(y_of(from)) + "V" + px(y_of(to)) +
           "\"/>\n";
  }
  const double reach = std::min(spine - 10, 12 + 14 * std::log2(rows));
  const std::string x = px(spine - reach * 4 / 3);
  return "<path class=\"arc\" d=\"M" + px(spine) + " " + px(y_of(from)) + "C" + x + " " +
         px(y_of(from)) + " " + x + " " + px(y_of(to)) + " " + px(spine) + " " + px(y_of(to)) +
         "\"/>\n";
}

std::string row(const NetworkReportKernel& kernel, std::size_t number, double sum, double most) {
  const double y = y_of(number);
  const double share = sum > 0 ? kernel.median_ns / sum : 0;
  const std::string label = shortened(kernel.operators, 40) + "  " + shortened(kernel.node, 40);
  std::string svg = "<g><title>" +
                    escape_html(kernel.operators + "\n" + kernel.node + "\n" + kernel.shape + "\n" +
                                time_text(kernel.median_ns)) +
                    "</title><circle class=\"node\" cx=\"" + px(spine) + "\" cy=\"" + px(y) +
                    "\" r=\"3.5\"/>";
  svg += "<text class=\"row\" x=\"" + px(text_left) + "\" y=\"" + px(y + 4) + "\">" +
         escape_html(shortened(label, longest_label)) + "</text>";
  svg += "<rect class=\"bar\" x=\"" + px(bar_left) + "\" y=\"" + px(y - 7) +
         "\" height=\"14\" "
         "width=\"" +
         px(most > 0 ? bar_width * kernel.median_ns / most : 0) + "\"/>";
  svg += "<text class=\"small\" x=\"" + px(bar_left + bar_width + 8) + "\" y=\"" + px(y + 4) +
         "\">" + number_text(100 * share, 1) + " %, " + time_text(kernel.median_ns) +
         "</text></g>\n";
  return svg;
}

}  // namespace

std::string graph_chart(const NetworkReport& report) {
  if (report.kernels.empty()) {
    return {};
  }
  double sum = 0, most = 0;
  for (const NetworkReportKernel& kernel : report.kernels) {
    sum += kernel.median_ns;
    most = std::max(most, kernel.median_ns);
  }
  const std::size_t count = std::min(report.kernels.size(), most_drawn_kernels);
  std::string svg = "<svg viewBox=\"0 0 " + px(graph_width) + " " +
                    px(2 * first_y + row_height * static_cast<double>(count)) +
                    "\" role=\"img\" aria-label=\"Kernels and their shares of the time\">\n";
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t from : report.kernels[i].reads) {
      if (from < i) {
        svg += arc(from, i);
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    svg += row(report.kernels[i], i, sum, most);
  }
  return svg + "</svg>\n";
}

}  // namespace tensorsmith
