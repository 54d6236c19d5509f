// SPDX-License-Identifier: Apache-2.0
// requires: llvm json cli11
// bench_ranges: a family of kernels for a range of rows beside kernels tuned for single numbers of
// them.
//
//   bench_ranges --seconds 60 --own-seconds 10 --json ranges.json
//   bench_ranges --workload gemm:@x768x768:f32 --first 1 --last 512 --samples 12
//
// The family is tuned once. Then each sampled number of rows gets a search of its own, and its
// kernel takes turns with the family. Exit code 0: all results agree; 1: not; 2: wrong arguments;
// 130: interrupted.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/support/arguments.hpp"
#include "bench/support/interrupt.hpp"
#include "bench/support/machine.hpp"
#include "bench/support/packed_kernel.hpp"
#include "bench/support/paired.hpp"
#include "bench/support/report_file.hpp"
#include "tensorsmith/report/search_curve.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/tune/defaults.hpp"
#include "tensorsmith/tune/range.hpp"

namespace tensorsmith::bench {
namespace {

struct Options {
  std::string workload = "gemm:@x768x768:f32";  ///< @: the number of rows
  std::int64_t first = 1, last = 512;
  double seconds = 60, own_seconds = 10;
  int samples = 12, pairs = 30;
  std::uint64_t seed = 1;
  int num_threads = 1;
};

TuneTask task_of(const Options& options, std::int64_t rows) {
  std::string text = options.workload;
  const std::string digits = std::to_string(rows);
  for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@')) {
    text.replace(at, 1, digits);
  }
  return named_task(text, host_target());
}

/// Both ends, and numbers of which every octave gets as many.
std::set<std::int64_t> sampled_rows(const Options& options) {
  std::set<std::int64_t> rows{options.first, options.last};
  CounterRng rng(options.seed, 0x5A, 0);
  const double octaves =
      std::log2(static_cast<double>(options.last) / static_cast<double>(options.first));
  const auto wanted = static_cast<std::size_t>(
      std::min<std::int64_t>(options.samples, options.last - options.first + 1));
  while (rows.size() < wanted) {
    const double at = octaves * rng.next_below(1 << 20) / (1 << 20);
    rows.insert(std::clamp(
        static_cast<std::int64_t>(std::round(static_cast<double>(options.first) * std::exp2(at))),
        options.first, options.last));
  }
  return rows;
}

nlohmann::ordered_json run_rows(const Options& options, const RangeResult& family,
                                const RangeKernel& kernel, std::int64_t rows) {
  nlohmann::ordered_json entry;
  entry["rows"] = rows;
  entry["agrees"] = false;
  TuneOptions tuning;
  tuning.budget.seconds = options.own_seconds;
  tuning.seed = options.seed;
  tuning.num_threads = options.num_threads;
  tuning.is_cancelled = is_interrupted;
  const TuneResult own = tune(task_of(options, rows), tuning);
  if (!own.has_best()) {
    entry["problem"] = own.summary.first_failure;
    return entry;
  }
  const std::vector<KernelParameter>& parameters = own.signature.parameters;
  Operands operands(parameters);
  std::vector<KernelOperand> of_family;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    KernelOperand operand;
    operand.data = operands.pointers[i];
    operand.num_elements = parameters[i].num_elements;
    operand.element_bytes = bytes_of(parameters[i].dtype);
    operand.dtype = parameters[i].dtype;
    of_family.push_back(operand);
  }
  const Kernel single = own.kernel();
  const auto results = [&] {
    std::vector<float> values;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].is_output && parameters[i].dtype == DType::f32) {
        const auto* data = static_cast<const float*>(operands.pointers[i]);
        values.insert(values.end(), data, data + parameters[i].num_elements);
      }
    }
    return values;
  };
  single.call(of_family);
  const std::vector<float> wanted = results();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_output) {
      std::fill_n(static_cast<std::byte*>(operands.pointers[i]),
                  parameters[i].num_elements * bytes_of(parameters[i].dtype), std::byte{0xA5});
    }
  }
  kernel.call(rows, of_family);
  const std::vector<float> got = results();
  double largest = 1e-30, apart = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(wanted[i])));
    const double gap = std::abs(static_cast<double>(wanted[i]) - static_cast<double>(got[i]));
    apart = std::isnan(gap) ? HUGE_VAL : std::max(apart, gap);
  }
  entry["difference"] = apart / largest;
  entry["agrees"] = apart <= 1e-4 * largest;
  PairOptions pairs;
  pairs.pairs = options.pairs;
  pairs.warm_calls = 1;
  pairs.is_stopped = is_interrupted;
  const PairedResult raced =
      measure_pairs([&] { kernel.call(rows, of_family); }, [&] { single.call(of_family); }, pairs);
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const std::size_t k : family.plan.parts(rows)) {
    parts.push_back(family.plan.sizes[k]);
  }
  entry["parts"] = parts;
  entry["family_ns"] = raced.ours.median_ns;
  entry["own_ns"] = raced.peer.median_ns;
  entry["speed"] = raced.ratio;
  return entry;
}

int run(const Options& options, const std::string& json_path) {
  const ReportFile file(json_path);
  std::FILE* const progress = file.progress();
  nlohmann::ordered_json report = report_head(probe_host(), {});
  report["workload"] = options.workload;
  report["seconds"] = options.seconds;
  report["own_seconds"] = options.own_seconds;
  RangeOptions range;
  range.tune.budget.seconds = options.seconds;
  range.tune.seed = options.seed;
  range.tune.num_threads = options.num_threads;
  range.tune.is_cancelled = is_interrupted;
  const RangeResult family = tune_range([&](std::int64_t rows) { return task_of(options, rows); },
                                        options.first, options.last, range);
  if (!family.has_all()) {
    std::fprintf(progress, "no kernels that make up every number of rows\n");
    return is_interrupted() ? exit_interrupted : 1;
  }
  report["kernels"] = family.plan.sizes;
  report["trials"] = family.trials;
  std::fprintf(progress, "%s, %lld to %lld rows: %zu kernels of %zu tuned, %.0f s\n",
               options.workload.c_str(), static_cast<long long>(options.first),
               static_cast<long long>(options.last), family.members.size(), family.num_tuned,
               family.seconds);
  std::fprintf(progress,
               "speed of the family, of that of a kernel tuned for that number of rows\n");
  const RangeKernel kernel = family.kernel();
  bool all_agree = true;
  std::vector<double> speeds;
  report["rows"] = nlohmann::ordered_json::array();
  for (const std::int64_t rows : sampled_rows(options)) {
    nlohmann::ordered_json entry = run_rows(options, family, kernel, rows);
    if (is_interrupted()) {
      file.write(report, true);
      return exit_interrupted;
    }
    all_agree = all_agree && entry["agrees"].get<bool>();
    if (entry.contains("speed")) {
      speeds.push_back(entry["speed"].get<double>());
      std::fprintf(progress, "%6lld rows %10.1f us %10.1f us %6.2f   parts %s%s\n",
                   static_cast<long long>(rows), entry["family_ns"].get<double>() * 1e-3,
                   entry["own_ns"].get<double>() * 1e-3, speeds.back(),
                   entry["parts"].dump().c_str(), entry["agrees"].get<bool>() ? "" : "   WRONG");
      std::fflush(progress);
    }
    report["rows"].push_back(std::move(entry));
    file.write(report, false);
  }
  if (!speeds.empty()) {
    const double geomean = geometric_mean(speeds);
    const double least = *std::min_element(speeds.begin(), speeds.end());
    report["summary"] = {{"geomean", geomean}, {"min", least}, {"samples", speeds.size()}};
    std::fprintf(progress, "geomean %.3f, least %.2f of %zu numbers of rows\n", geomean, least,
                 speeds.size());
  }
  file.write(report, true);
  return all_agree && !speeds.empty() ? 0 : 1;
}

}  // namespace
}  // namespace tensorsmith::bench

int main(int argc, char** argv) {
  CLI::App app{"A family of kernels for a range of rows beside kernels for single numbers of them"};
  tensorsmith::bench::Options options;
  std::string json_path;
  app.add_option("--workload", options.workload, "with @ where the number of rows stands");
  app.add_option("--first", options.first, "fewest rows")->check(CLI::PositiveNumber);
  app.add_option("--last", options.last, "most rows")->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds, "budget of the family")->check(CLI::PositiveNumber);
  app.add_option("--own-seconds", options.own_seconds, "budget of each single kernel")
      ->check(CLI::PositiveNumber);
  app.add_option("--samples", options.samples, "numbers of rows that are compared")
      ->check(CLI::Range(2, 10000));
  app.add_option("--pairs", options.pairs, "interleaved rounds")->check(CLI::Range(5, 10000));
  app.add_option("--threads", options.num_threads, "of the kernels")->check(CLI::Range(1, 1024));
  app.add_option("--seed", options.seed, "seed of the searches and samples");
  app.add_option("--json", json_path, "report file, - for standard output");
  if (const auto code = tensorsmith::bench::parse_arguments(app, argc, argv, "bench_ranges")) {
    return *code;
  }
  tensorsmith::bench::watch_interrupts();
  try {
    return tensorsmith::bench::run(options, json_path);
  } catch (const tensorsmith::Error& error) {
    std::fprintf(stderr, "bench_ranges: %s\n", error.what());
    return 2;
  }
}
