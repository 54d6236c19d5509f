// SPDX-License-Identifier: Apache-2.0
// requires: llvm json cli11
#include "quality.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <variant>

#include <unistd.h>

#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/ir/program_hash.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/measure/simulated.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/tune/backend.hpp"
#include "tensorsmith/tune/board_latency.hpp"

namespace tensorsmith::bench {
namespace {

/// A workload, and one like it of other extents, whose programs a prior may come from.
struct Pair {
  const char* workload;
  const char* similar;
};
constexpr Pair pairs[] = {
    {"gemm:512x512x512:f32", "gemm:1024x768x384:f32"},
    {"gemm:1024x1024x1024:f32", "gemm:512x2048x768:f32"},
    {"gemm:128x3072x768:f32,bias,relu", "gemm:256x2048x512:f32,bias,relu"},
    {"gemm:768x768x768:f16", "gemm:512x1024x512:f16"},
    {"gemm:16x4096x1024:f32", "gemm:32x2048x2048:f32"},
    {"gemm:1000x1000x500:f32", "gemm:500x1200x700:f32"},
    {"bmm:12x128x128x64:f32", "bmm:8x256x256x64:f32"},
    {"bmm:16x96x128x80:f32", "bmm:12x64x64x64:f32"},
    {"conv2d:n=1,h=28,w=28,ci=64,co=64,k=3,s=1,p=1",
     "conv2d:n=1,h=14,w=14,ci=128,co=128,k=3,s=1,p=1"},
    {"conv2d:n=1,h=56,w=56,ci=64,co=64,k=1,s=1,p=0",
     "conv2d:n=1,h=28,w=28,ci=128,co=64,k=1,s=1,p=0"},
    {"conv2d:n=4,h=14,w=14,ci=64,co=128,k=3,s=2,p=1",
     "conv2d:n=2,h=28,w=28,ci=64,co=64,k=3,s=2,p=1"},
    {"softmax:512x1024", "softmax:256x2048"},
    {"layernorm:128x768", "layernorm:256x1024"},
    {"reduce_sum:256x4096", "reduce_sum:128x8192"},
    {"gemm:2048x64x512:f32", "gemm:1024x128x256:f32"},
    {"gemm:64x64x8192:f32", "gemm:32x96x16384:f32"},
};

/// By how much the estimate of a program errs: a smooth function of every length, another one for
/// every place, and a number for every hint. A pure function of the steps.
double error_of(const State& state, double size) {
  double sum = 0;
  std::uint64_t place = 0;
  for (const Step& step : state.steps()) {
    if (const SplitStep* split = std::get_if<SplitStep>(&step)) {
      for (std::int64_t length : split->lengths) {
        const double phase = static_cast<double>(hash_mix(++place) >> 11) * 0x1.0p-53 * 6.2832;
        sum += std::sin(1.3 * std::log2(static_cast<double>(length)) + phase);
      }
    } else if (const PragmaStep* hint = std::get_if<PragmaStep>(&step)) {
      const std::uint64_t bits =
          hash_text(std::string(hint->hint.text()) + std::to_string(hint->stage));
      sum += 2 * static_cast<double>(bits >> 11) * 0x1.0p-53 - 1;
    }
  }
  return std::exp(size * sum);
}

/// Nanoseconds; none for a program that cannot be built.
std::optional<double> true_time(const State& state, const Target& target, double error) {
  if (target.kind == TargetKind::cpu) {
    constexpr double ghz = 3;
    return lower(state, target)
               ? std::optional(draft_cycles(state, target) / ghz * error_of(state, error))
               : std::nullopt;
  }
  const auto latency = latency_on_board(state, target);
  return latency ? std::optional(latency->ns * error_of(state, error)) : std::nullopt;
}

class TimeBuilder final : public CandidateBuilder {
 public:
  TimeBuilder(const Target& target, double error) : target_(target), error_(error) {}
  Result<BuiltCandidate, MeasureFault> build(const State& state) override {
    const std::optional<double> ns = true_time(state, target_, error_);
    if (!ns) {
      return fail(MeasureFault{MeasureStatus::compile_error, "it cannot be built"});
    }
    BuiltCandidate built;
    built.entry = "time";
    built.object.resize(sizeof(double));
    std::memcpy(built.object.data(), &*ns, sizeof(double));
    return built;
  }

 private:
  Target target_;
  double error_;
};

/// A machine whose programs take what the estimate says, times its error.
class ErringBackend final : public Backend {
 public:
  ErringBackend(const Target& target, double error) : target_(target), error_(error) {}

  BackendFacts facts() const override {
    return {.device_name = "erring", .runs_code = false, .has_threads = false};
  }
  Owned<CandidateBuilder> make_builder(std::int32_t) const override {
    return make_owned<TimeBuilder>(target_, error_);
  }
  Owned<Measurer> make_measurer(const MeasurerOptions& options) const override {
    return make_owned<SimulatedMeasurer>(
        [](const CompiledCandidate& candidate) {
          double ns = 0;
          std::memcpy(&ns, candidate.object.data(), sizeof(ns));
          return ns;
        },
        options.simulated);
  }
  PlainRunner make_reference() const override { return {}; }
  State untuned(const Shared<const ComputeDag>& dag) const override { return State::initial(dag); }
  std::string source(const LoopProgram&, std::int32_t, const std::string&,
                     const std::string&) const override {
    return "";
  }
  std::string assembly(const State&, std::int32_t) const override { return ""; }

 private:
  Target target_;
  double error_;
};

struct TempJournal {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("tensorsmith_quality_" + std::to_string(::getpid()) + ".jsonl"))
                         .string();
  TempJournal() { std::filesystem::remove(path); }
  TempJournal(const TempJournal&) = delete;
  TempJournal& operator=(const TempJournal&) = delete;
  ~TempJournal() { std::filesystem::remove(path); }
};

TuneTask task_of(const std::string& text, const std::string& target) {
  const Result<ops::Workload, std::string> parsed = ops::parse_workload(text);
  if (!parsed) {
    throw Error(parsed.error());
  }
  const auto found = Target::from_name(target);
  if (!found) {
    throw Error("unknown target " + target);
  }
  return {parsed->dag, *found, parsed->name, parsed->nominal_flop};
}

TuneOptions plain(const QualityOptions& quality, std::uint64_t seed) {
  TuneOptions options = quality.tune;
  options.budget = {0, quality.trials};
  options.seed = seed;
  options.polish = 0;
  options.prior = 0;
  options.policy_params = {{"evolutionary_search_population", std::to_string(quality.population)}};
  options.make_backend = [error = quality.error](const Target& target) -> Owned<Backend> {
    return make_owned<ErringBackend>(target, error);
  };
  return options;
}

void set_way(TuneOptions& options, const std::string& way) {
  std::size_t begin = 0;
  while (begin < way.size()) {
    const std::size_t end = std::min(way.find(',', begin), way.size());
    const std::string part = way.substr(begin, end - begin);
    const std::size_t sign = part.find('=');
    const std::string name = part.substr(0, sign);
    const double value = sign == std::string::npos ? 0 : std::atof(part.c_str() + sign + 1);
    if (name == "polish") {
      options.polish = value;
    } else if (name == "diversity") {
      options.diversity = value;
    } else if (name == "prior") {
      options.prior = value;
    } else if (name != "plain") {
      throw Error("--way: expected polish, diversity or prior, got \"" + name + "\"");
    }
    begin = end + 1;
  }
}

struct Outcome {
  double ns = 0;
  std::int64_t trials = 0, equal = 0;
};

Outcome search(const TuneTask& task, const TuneOptions& options, double error) {
  const TuneResult result = tune(task, options);
  Outcome outcome;
  outcome.trials = result.summary.trials;
  outcome.equal = result.summary.num_equal_programs;
  if (result.has_best()) {
    outcome.ns = true_time(result.state(), task.target, error).value_or(0);
  }
  return outcome;
}

}  // namespace

nlohmann::ordered_json compare_searches(const QualityOptions& quality, std::FILE* out) {
  std::vector<Pair> chosen;
  for (const Pair& pair : pairs) {
    if (quality.workloads.empty()) {
      chosen.push_back(pair);
    }
  }
  for (const std::string& text : quality.workloads) {
    chosen.push_back({text.c_str(), nullptr});
  }
  std::vector<double> sums(quality.ways.size(), 0);
  std::vector<int> wins(quality.ways.size(), 0), losses(quality.ways.size(), 0);
  int count = 0;
  nlohmann::ordered_json report = nlohmann::ordered_json::array();
  for (const Pair& pair : chosen) {
    const TuneTask task = task_of(pair.workload, quality.target);
    for (int seed = 1; seed <= quality.seeds; ++seed) {
      if (quality.tune.is_cancelled && quality.tune.is_cancelled()) {
        return report;
      }
      const Outcome base =
          search(task, plain(quality, static_cast<std::uint64_t>(seed)), quality.error);
      std::fprintf(out, "%-48s seed %d  %10.3f us", pair.workload, seed, base.ns / 1e3);
      nlohmann::ordered_json entry = {
          {"workload", pair.workload}, {"seed", seed}, {"ns", base.ns}, {"equal", base.equal}};
      for (std::size_t w = 0; w < quality.ways.size(); ++w) {
        TuneOptions options = plain(quality, static_cast<std::uint64_t>(seed));
        set_way(options, quality.ways[w]);
        const TempJournal journal;
        if (options.prior > 0 && pair.similar != nullptr) {
          TuneOptions before = plain(quality, static_cast<std::uint64_t>(seed) + 100);
          before.database = options.database = journal.path;
          (void)tune(task_of(pair.similar, quality.target), before);
        }
        const Outcome outcome = search(task, options, quality.error);
        const double ratio = base.ns > 0 && outcome.ns > 0 ? outcome.ns / base.ns : 1;
        sums[w] += std::log(ratio);
        wins[w] += ratio < 0.999 ? 1 : 0;
        losses[w] += ratio > 1.001 ? 1 : 0;
        std::fprintf(out, "  %6.3f", ratio);
        entry[quality.ways[w]] = outcome.ns;
      }
      std::fprintf(out, "\n");
      std::fflush(out);
      ++count;
      report.push_back(std::move(entry));
    }
  }
  for (std::size_t w = 0; w < quality.ways.size() && count > 0; ++w) {
    std::fprintf(out,
                 "%-24s %.4f of the plain search's time (geometric mean of %d), %d faster, %d "
                 "slower\n",
                 quality.ways[w].c_str(), std::exp(sums[w] / count), count, wins[w], losses[w]);
  }
  return report;
}

}  // namespace tensorsmith::bench
