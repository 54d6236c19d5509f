// SPDX-License-Identifier: Apache-2.0
#include "report/curve_chart.hpp"

#include <algorithm>
#include <cmath>

#include "report/html_text.hpp"

namespace tensorsmith {
namespace {

constexpr double width = 760, height = 300;
constexpr double left = 64, right = 16, top = 14, bottom = 42;

/// A page stays small; of more trials only every second, third ... is drawn.
constexpr std::size_t most_dots = 3000;

/// Where a trial lies in the picture.
struct Scale {
  double seconds = 1, rate = 1;  ///< at the right and the upper end

  double x(double at) const { return left + at / seconds * (width - left - right); }
  double y(double at) const { return height - bottom - at / rate * (height - top - bottom); }
};

std::string at(double value) { return number_text(value, 1); }

double rate_of(const Record& record, double flop) {
  return flop > 0 ? flop / record.min_ns : 1e9 / record.min_ns;
}
std::string rate_text(double rate, double flop) {
  return flop > 0 ? number_text(rate, 1) + " GFLOP/s" : number_text(rate, 0) + " calls/s";
}

/// Steps: flat until a trial is better than all before it.
std::string line_of(const std::vector<Record>& run, double flop, const Scale& scale) {
  std::string path;
  double best = 0;
  for (const Record& record : run) {
    if (record.is_ok() && rate_of(record, flop) > best) {
      best = rate_of(record, flop);
      const bool is_first = path.empty();
      path += (is_first ? "M" : "H") + at(scale.x(record.seconds)) + (is_first ? " " : "V") +
              at(scale.y(best));
    }
  }
  return path.empty() ? path : path + "H" + at(scale.x(run.back().seconds));
}

std::string axes(const Scale& scale, const std::vector<double>& x_ticks,
                 const std::vector<double>& y_ticks, const std::string& x_label,
                 const std::string& y_label) {
  std::string svg;
  const auto decimals = [](const std::vector<double>& ticks) {
    return ticks.size() < 2 || ticks[1] >= 1 ? 0 : ticks[1] >= 0.1 ? 1 : ticks[1] >= 0.01 ? 2 : 3;
  };
  for (const double tick : y_ticks) {
    svg += "<line class=\"grid\" x1=\"" + at(left) + "\" x2=\"" + at(width - right) + "\" y1=\"" +
           at(scale.y(tick)) + "\" y2=\"" + at(scale.y(tick)) + "\"/>";
    svg += "<text class=\"tick\" text-anchor=\"end\" x=\"" + at(left - 6) + "\" y=\"" +
           at(scale.y(tick) + 4) + "\">" + number_text(tick, decimals(y_ticks)) + "</text>\n";
  }
  for (const double tick : x_ticks) {
    if (tick <= scale.seconds) {
      svg += "<text class=\"tick\" text-anchor=\"middle\" x=\"" + at(scale.x(tick)) + "\" y=\"" +
             at(height - bottom + 18) + "\">" + number_text(tick, decimals(x_ticks)) + "</text>\n";
    }
  }
  svg += "<text class=\"tick\" text-anchor=\"middle\" x=\"" + at((left + width - right) / 2) +
         "\" y=\"" + at(height - 6) + "\">" + x_label + "</text>\n";
  svg += "<text class=\"tick\" text-anchor=\"middle\" transform=\"translate(14 " +
         at((top + height - bottom) / 2) + ") rotate(-90)\">" + y_label + "</text>\n";
  return svg;
}

std::string dot(const Record& record, double flop, const Scale& scale) {
  const double rate = rate_of(record, flop);
  return "<circle class=\"trial\" cx=\"" + at(scale.x(record.seconds)) + "\" cy=\"" +
         at(scale.y(rate)) + "\" r=\"2\"><title>trial " + std::to_string(record.trial) + ", " +
         number_text(record.seconds, 1) + " s: " + time_text(record.min_ns) + ", " +
         rate_text(rate, flop) + "</title></circle>\n";
}

}  // namespace

std::vector<double> axis_ticks(double most, int wanted) {
  if (!(most > 0) || wanted < 1) {
    return {0};
  }
  const double raw = most / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double lead = raw / power;
  const double step = power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
  std::vector<double> ticks;
  for (int i = 0; ticks.empty() || ticks.back() < most * (1 - 1e-9); ++i) {
    ticks.push_back(step * i);
  }
  return ticks;
}

std::string curve_chart(const std::vector<std::vector<Record>>& runs, double flop) {
  Scale scale{0, 0};
  for (const std::vector<Record>& run : runs) {
    for (const Record& record : run) {
      scale.seconds = std::max(scale.seconds, record.seconds);
      scale.rate = record.is_ok() ? std::max(scale.rate, rate_of(record, flop)) : scale.rate;
    }
  }
  if (!(scale.rate > 0)) {
    return {};
  }
  scale.seconds = scale.seconds > 0 ? scale.seconds : 1;
  const std::vector<double> y_ticks = axis_ticks(scale.rate, 5);
  scale.rate = y_ticks.back();
  std::string svg = "<svg viewBox=\"0 0 " + number_text(width, 0) + " " + number_text(height, 0) +
                    "\" role=\"img\" aria-label=\"Best so far over time\">\n";
  svg += axes(scale, axis_ticks(scale.seconds, 8), y_ticks,
              "seconds since the start, compilation included",
              flop > 0 ? "GFLOP/s" : "calls per second");
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) {
    svg += "<path class=\"earlier\" d=\"" + line_of(runs[i], flop, scale) + "\"/>\n";
  }
  const std::vector<Record>& last = runs.back();
  const std::size_t stride = last.size() / most_dots + 1;
  for (std::size_t i = 0; i < last.size(); i += stride) {
    if (last[i].is_ok()) {
      svg += dot(last[i], flop, scale);
    }
  }
  svg += "<path class=\"best\" d=\"" + line_of(last, flop, scale) + "\"/>\n";
  return svg + "</svg>\n";
}

std::string step_chart(const std::vector<std::pair<double, double>>& points,
                       const std::string& x_label, const std::string& y_label) {
  Scale scale{0, 0};
  for (const auto& [seconds, value] : points) {
    scale.seconds = std::max(scale.seconds, seconds);
    scale.rate = std::max(scale.rate, value);
  }
  if (!(scale.rate > 0)) {
    return {};
  }
  scale.seconds = scale.seconds > 0 ? scale.seconds : 1;
  const std::vector<double> y_ticks = axis_ticks(scale.rate, 5);
  scale.rate = y_ticks.back();
  std::string path;
  for (const auto& [seconds, value] : points) {
    const bool is_first = path.empty();
    path +=
        (is_first ? "M" : "H") + at(scale.x(seconds)) + (is_first ? " " : "V") + at(scale.y(value));
  }
  return "<svg viewBox=\"0 0 " + number_text(width, 0) + " " + number_text(height, 0) +
         "\" role=\"img\" aria-label=\"" + escape_html(y_label) + "\">\n" +
         axes(scale, axis_ticks(scale.seconds, 8), y_ticks, escape_html(x_label),
              escape_html(y_label)) +
         "<path class=\"best\" d=\"" + path + "\"/>\n</svg>\n";
}

}  // namespace tensorsmith
