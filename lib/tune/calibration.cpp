// SPDX-License-Identifier: Apache-2.0
// Rates: measured, written to a file and read back.
// requires: llvm
#include "tensorsmith/tune/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <vector>

#include <nlohmann/json.hpp>

#include "tensorsmith/cost/draft_rates.hpp"
#include "tensorsmith/cost/fit_rates.hpp"
#include "tensorsmith/support/file.hpp"
#include "tensorsmith/tune/backend.hpp"
#include "tensorsmith/tune/defaults.hpp"
#include "tensorsmith/tune/driver.hpp"
#include "tensorsmith/tune/measure_task.hpp"
#include "tensorsmith/tune/methods.hpp"
#include "tune/session.hpp"

namespace tensorsmith {
namespace {

/// Files of version 1 of Intel's newer cores counted in sixths of a cycle.
constexpr const char* format_name = "tensorsmith-rates-2";
constexpr std::int64_t most_bytes = 64 << 10;

/// Small enough for many programs in a second; together they meet every level of the caches, the
/// starts of short runs, rows that are shared, gathers of strided planes and calls.
constexpr const char* calibration_workloads[] = {
    "gemm:128x256x256:f32",
    "gemm:4x2048x4096:f32",
    "depthwise:n=1,h=56,w=56,c=96,k=3,s=2,p=1",
    "conv2d:n=1,h=14,w=14,ci=128,co=64,k=3,s=1,p=1,layout=free",
    "softmax:256x1000",
    "bmm:4x128x128x64:f32,tb",
    "conv2d:n=1,h=28,w=28,ci=64,co=64,k=1,s=2,p=0,layout=nhwc",
    "layernorm:256x768",
};
/// Of the time; the rest is for the fit.
constexpr double timing_share = 0.75;
/// How far that may go from what was believed: what fits to one half of 16 workloads did best with
/// on the other half; and so many programs that it takes.
constexpr double fit_doubt = 2, programs_for_doubt = 500;
constexpr std::size_t most_programs = 96;

/// Programs of one workload until `is_late`, at least two of them.
Result<std::vector<TimedProgram>, std::string> time_programs(const char* workload,
                                                             const Target& target,
                                                             std::size_t group,
                                                             const Callback<bool()>& is_late) {
  const TuneTask task = named_task(workload, target);
  TuneOptions options;
  options.cost_model = "random";
  options.policy_params = {{"evolutionary_search_population", "64"},
                           {"evolutionary_search_num_iters", "1"}};
  const Search search = make_search(task, options);
  std::vector<Proposal> proposals = search.policy->propose(most_programs);
  const Owned<CandidateBuilder> builder = make_backend(target)->make_builder(1);
  const Owned<Measurer> measurer = measurer_for(options, target);
  if (const auto prepared = measurer->prepare(make_measure_task(*task.dag, 1, 1)); !prepared) {
    return fail(prepared.error().message);
  }
  MeasureContext context;  // no best: nothing is raced, see docs/decisions/0050-rates-as-data.md
  context.racing.verify = false;
  context.racing.full_budget_ns = 2'000'000;
  context.racing.only_call_ns = 20'000'000;
  std::vector<TimedProgram> timed;
  const auto time = [&](const BuiltCandidate& built, const State& state) {
    const std::vector<CompiledCandidate> one = {candidate_of(built, hash_steps(state.steps()))};
    const MeasureResult result = measurer->measure(one, context).front();
    return result.is_ok() && result.min_ns > 0 ? result.min_ns : 0.0;
  };
  // Seeds come first: every other one from the end, so that slow programs are there, too.
  for (std::size_t i = 0; i < proposals.size() && (timed.size() < 2 || !is_late()); ++i) {
    const std::size_t at = i % 2 == 0 ? i / 2 : proposals.size() - 1 - i / 2;
    Result<BuiltCandidate, MeasureFault> built = builder->build(proposals[at].state);
    const double ns = built ? time(*built, proposals[at].state) : 0;
    if (ns > 0) {
      timed.push_back({std::move(proposals[at].state), ns, group});
    }
  }
  return timed;
}

}  // namespace

Result<MachineRates, std::string> calibrate_machine(const Target& target, double seconds,
                                                    const Callback<bool()>& is_cancelled) {
  const double begin = steady_seconds();
  const auto interrupted = [&] { return is_cancelled && is_cancelled(); };
  const auto is_late = [&](double share) {
    return interrupted() || steady_seconds() - begin > share * seconds;
  };
  const std::string stopped = "interrupted while the rates of this machine were measured";
  MachineRates made;
  made.machine = machine_name(target);
  made.probes = probe_core(target, is_cancelled);
  if (interrupted()) {
    return fail(stopped);
  }
  std::vector<TimedProgram> programs;
  std::size_t group = 0;
  for (const char* workload : calibration_workloads) {
    // Every workload gets an equal part of what is left.
    const double left = std::max(0.0, timing_share - (steady_seconds() - begin) / seconds);
    const double end = (steady_seconds() - begin) / seconds +
                       left / static_cast<double>(std::size(calibration_workloads) - group);
    const auto timed = time_programs(workload, target, group++, [&] { return is_late(end); });
    if (interrupted()) {
      return fail(stopped);
    }
    if (!timed) {
      return fail(timed.error());
    }
    programs.insert(programs.end(), timed->begin(), timed->end());
  }
  const double share = std::min(1.0, static_cast<double>(programs.size()) / programs_for_doubt);
  const RatesFit fit =
      fit_rates(programs, target, 1, fit_doubt * std::sqrt(share), [&] { return is_late(1); });
  if (interrupted()) {
    return fail(stopped);
  }
  made.rates = fit.rates;
  for_each_change(detail::draft_rates(target), made.rates,
                  [&](std::string_view name, double, double) { made.fitted.emplace_back(name); });
  made.num_programs = static_cast<std::int64_t>(programs.size());
  made.error_before = fit.error_before;
  made.error_after = fit.error_after;
  made.seconds = steady_seconds() - begin;
  return made;
}

Result<MachineRates, std::string> read_rates(const std::string& path, const Target& target) {
  const Result<std::string, FileError> text = read_file(path, {.most_bytes = most_bytes});
  if (!text) {
    return fail("\"" + path + "\" is no file of rates");
  }
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  const auto is_text = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_string();
  };
  if (!is_text("v") || json["v"] != format_name || !is_text("machine") || !json.contains("rates") ||
      !json["rates"].is_object()) {
    return fail("\"" + path + "\" is no file of rates of this version");
  }
  MachineRates made;
  made.machine = json["machine"].get<std::string>();
  if (made.machine != machine_name(target)) {
    return fail("\"" + path + "\" is of another machine: " + made.machine);
  }
  Target believed = target;
  believed.rates.reset();
  made.rates = detail::draft_rates(believed);
  std::string wrong;
  std::vector<std::string_view> maybe_zero;  // a rate is divided by, or is 0 where nothing is known
  const CoreRates base;
  for_each_rate(base, [&](std::string_view name, double value) {
    if (value == 0) {
      maybe_zero.push_back(name);
    }
  });
  for_each_rate(made.rates, [&](std::string_view name, double& value) {
    const auto found = json["rates"].find(std::string(name));
    if (found == json["rates"].end()) {
      return;
    }
    const double read = found->is_number() ? found->get<double>() : -1;
    const bool may_be_zero =
        std::find(maybe_zero.begin(), maybe_zero.end(), name) != maybe_zero.end();
    if (!std::isfinite(read) || read < 0 || read > 1e12 || (read == 0 && !may_be_zero)) {
      wrong = std::string(name);
      return;
    }
    value = read;
    made.fitted.emplace_back(name);
  });
  if (!wrong.empty()) {
    return fail("\"" + path + "\": the rate " + wrong + " is no number that it may have");
  }
  const auto number = [&](const char* key) {
    return json.contains(key) && json[key].is_number() ? json[key].get<double>() : 0.0;
  };
  made.num_programs = static_cast<std::int64_t>(std::clamp(number("num_programs"), 0.0, 1e9));
  made.error_before = number("error_before");
  made.error_after = number("error_after");
  made.seconds = number("seconds");
  return made;
}

Result<Done, std::string> write_rates(const std::string& path, const MachineRates& rates) {
  nlohmann::ordered_json json;
  json["v"] = format_name;
  json["machine"] = rates.machine;
  json["num_programs"] = rates.num_programs;
  json["error_before"] = rates.error_before;
  json["error_after"] = rates.error_after;
  json["seconds"] = rates.seconds;
  json["rates"] = nlohmann::ordered_json::object();
  for_each_rate(rates.rates, [&](std::string_view name, double value) {
    if (std::find(rates.fitted.begin(), rates.fitted.end(), name) != rates.fitted.end()) {
      json["rates"][std::string(name)] = value;
    }
  });
  std::error_code problem;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), problem);
  if (!write_file(path, json.dump(2) + "\n")) {
    return fail("cannot write \"" + path + "\"");
  }
  return Done{};
}

}  // namespace tensorsmith
