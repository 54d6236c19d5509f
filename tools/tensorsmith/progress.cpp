// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <cstdio>

#include <array>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command.hpp"

namespace tensorsmith::cli {
namespace {

constexpr double live_interval_seconds = 0.1;
constexpr double plain_interval_seconds = 2;

std::size_t terminal_columns() {
  winsize size{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : 80;
}

}  // namespace

std::string failures_text(const std::array<std::int64_t, num_measure_statuses>& statuses) {
  std::string text;
  for (std::size_t i = 0; i < num_measure_statuses; ++i) {
    const MeasureStatus status = static_cast<MeasureStatus>(i);
    if (status != MeasureStatus::ok && statuses[i] > 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(status), statuses[i]);
    }
  }
  return text;
}

std::string progress_text(const TuneProgress& progress, bool is_simulated) {
  std::string text = fmt::format("[{:6.1f} s] {} trial{}", progress.seconds, progress.trials,
                                 progress.trials == 1 ? "" : "s");
  if (progress.virtual_time > VirtualSeconds()) {
    text += fmt::format(" ({:.0f} virtual s)", progress.virtual_time.count());
  }
  if (progress.best_ns > 0) {
    text += (is_simulated ? ", best by the model " : ", best ") + duration_text(progress.best_ns);
    if (progress.gflops > 0) {
      text += fmt::format(", {:.1f} GFLOP/s", progress.gflops);
    }
    if (progress.peak_fraction > 0) {
      text += " (" + percent_text(progress.peak_fraction) + " of peak)";
    }
  }
  if (progress.trials > 0 && progress.seconds > 0) {
    text +=
        fmt::format(", {:.1f} trials/s", static_cast<double>(progress.trials) / progress.seconds);
  }
  if (const std::string failures = failures_text(progress.statuses); !failures.empty()) {
    text += ", failed: " + failures;
  }
  if (progress.seconds_left > 0) {
    text += fmt::format(", {:.0f} s left", progress.seconds_left);
  }
  return text;
}

ProgressPrinter::ProgressPrinter(bool is_quiet, bool is_simulated)
    : is_quiet_(is_quiet), is_terminal_(::isatty(STDERR_FILENO) == 1), is_simulated_(is_simulated) {
}

ProgressPrinter::~ProgressPrinter() { finish(); }

void ProgressPrinter::operator()(const TuneProgress& progress) {
  const double interval = is_terminal_ ? live_interval_seconds : plain_interval_seconds;
  if (is_quiet_ || progress.seconds - last_seconds_ < interval) {
    return;
  }
  last_seconds_ = progress.seconds;
  const std::string text = progress_text(progress, is_simulated_);
  if (is_terminal_) {
    std::fprintf(stderr, "\r%s\x1b[K", text.substr(0, terminal_columns() - 1).c_str());
    has_line_ = true;
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
  std::fflush(stderr);
}

void ProgressPrinter::finish() {
  if (has_line_) {
    std::fprintf(stderr, "\n");
    has_line_ = false;
  }
}

}  // namespace tensorsmith::cli
