// SPDX-License-Identifier: Apache-2.0
// requires: cuda json llvm
// bench_gpu: tunes workloads on a GPU of this machine and compares with libraries in the same run.
//
//   bench_gpu [OPTIONS] --output FILE WORKLOAD        WORKLOAD: or attention:BxMxD (gpu_case.hpp)
//     --target NAME, --seconds S, --trials N          as for tensorsmith tune
//     --tf32         f32 factors may be rounded to 10 bits, ours and the libraries'
//     --unverified   results are compared neither with a reference nor with libraries
//   bench_gpu --merge RESULT [--page PAGE] FILE...
// The best program and the libraries take turns, round by round, so that drift of the clock hits
// all alike; ratios are medians over the rounds. Plain products: cuBLAS and cuBLASLt; convolutions,
// softmax and layernorm: cuDNN; attention: a row of calls of both; everything: a copy on the device
// that moves as many bytes as the arguments have. A library that is not there is named, and so is
// one whose result differs. The trials' times are compared with those of the simulated board, by
// rank. --merge makes one file of several and writes its table into PAGE, between the lines that
// mark it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/gpu/compare.hpp"
#include "bench/gpu/table.hpp"
#include "tensorsmith/codegen/nvrtc.hpp"
#include "tensorsmith/measure/cuda_devices.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/tune/backend.hpp"
#include "tensorsmith/tune/board_latency.hpp"
#include "tensorsmith/tune/replay.hpp"

namespace tensorsmith::bench {
namespace {

using Json = nlohmann::json;

constexpr double most_verified_flop = 2e10;  // its reference takes seconds on a CPU

struct Arguments {
  std::string target = "cuda", output, merged, page;
  double seconds = 0;
  std::int64_t trials = 0;
  bool is_unverified = false, is_tf32 = false;
  std::vector<std::string> rest;
};

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double value : values) {
    double rank = 0;
    for (const double other : values) {
      rank += other < value ? 1 : other == value ? 0.5 : 0;
    }
    ranks.push_back(rank);
  }
  return ranks;
}

/// How the simulated board orders the programs that were measured.
Json model_json(const TuneTask& task, const std::string& journal) {
  std::vector<double> times, estimates;
  const auto contents = read_journal(journal);
  for (std::size_t i = 0; contents && i < contents->records.size(); ++i) {
    const Record& record = contents->records[i];
    if (record.is_ok() && record.workload == task.workload) {
      if (const auto latency =
              latency_on_board(replay_steps(task.dag, record.steps), task.target)) {
        times.push_back(record.min_ns);
        estimates.push_back(latency->ns);
      }
    }
  }
  const std::vector<double> a = ranks_of(times), b = ranks_of(estimates);
  const double mean = static_cast<double>(times.size()) / 2;
  double product = 0, square_a = 0, square_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += (a[i] - mean) * (b[i] - mean);
    square_a += (a[i] - mean) * (a[i] - mean);
    square_b += (b[i] - mean) * (b[i] - mean);
  }
  const bool is_known = square_a > 0 && square_b > 0;
  return {{"programs", times.size()},
          {"spearman", is_known ? Json(product / std::sqrt(square_a * square_b)) : Json(nullptr)}};
}

Json device_json(const Target& target) {
  const auto devices = list_cuda_devices();
  const auto nvrtc = NvrtcCompiler::open();
  Json json{{"target", target.name}, {"nvrtc", nvrtc ? nvrtc->version() : ""}};
  for (std::size_t i = 0; devices && i < devices->size(); ++i) {
    const CudaDevice& device = (*devices)[i];
    if (device.number == target.device) {
      json["name"] = device.name;
      json["driver"] = device.driver;
      json["class"] = "sm_" + std::to_string(device.compute_capability);
      json["sms"] = device.board.num_sms;
      json["clock_mhz"] = device.board.clock_mhz;
      json["dram_gb_per_s"] = device.board.dram_bytes_per_ns;
      json["memory_bytes"] = device.memory_bytes;
    }
  }
  return json;
}

/// One part of a case, with its share of the budget.
TuneResult tune_part(const GpuCase& one, const GpuPart& part, const Target& target,
                     const Arguments& arguments) {
  const TuneTask task{part.workload.dag, target, part.text, part.workload.nominal_flop};
  TuneOptions options;
  const auto num_parts = static_cast<std::int64_t>(one.parts.size());
  options.budget = {arguments.seconds / static_cast<double>(num_parts),
                    arguments.trials > 0 ? std::max<std::int64_t>(1, arguments.trials / num_parts)
                                         : 0};
  options.database = arguments.output + ".journal";
  options.verifies = !arguments.is_unverified && task.flop <= most_verified_flop;
  Owned<Measurer> worker, rounded;
  if (one.is_tf32) {
    worker = make_backend(target)->make_measurer({});
    rounded = make_owned<Tf32Measurer>(*worker, part.workload.reduction_length);
    options.measurer = rounded.get();
    options.space = "native with tf32";
    options.sketches = tf32_sketches;
  }
  TuneResult result = tune(task, options);
  if (!result.has_best()) {
    throw Error(part.text + ": no candidate succeeded: " + result.summary.first_failure);
  }
  return result;
}

/// The runs of all parts as one.
Json summary_json(const std::vector<TuneResult>& results) {
  Json json{{"trials", 0},         {"seconds", 0.0},          {"prepare_seconds", 0.0},
            {"best_ns", 0.0},      {"verified", true},        {"message", ""},
            {"first_failure", ""}, {"failed", Json::object()}};
  const auto add = [&](const char* name, auto value) {
    json[name] = json[name].get<decltype(value)>() + value;
  };
  const auto add_first = [&](const char* name, const std::string& text) {
    if (json[name] == "") {
      json[name] = text;
    }
  };
  for (const TuneResult& result : results) {
    const TuneSummary& summary = result.summary;
    add("trials", summary.trials);
    add("seconds", summary.seconds);
    add("prepare_seconds", summary.prepare_seconds);
    add("best_ns", summary.best_ns);
    json["verified"] = json["verified"].get<bool>() && summary.is_verified;
    add_first("message", summary.message);
    add_first("first_failure", summary.first_failure);
    for (std::size_t i = 1; i < num_measure_statuses; ++i) {
      const std::string name(name_of(static_cast<MeasureStatus>(i)));
      if (summary.statuses[i] > 0) {
        json["failed"][name] = json["failed"].value(name, std::int64_t{0}) + summary.statuses[i];
      }
    }
  }
  json["trials_per_second"] = json["trials"].get<double>() / json["seconds"].get<double>();
  return json;
}

/// Tensor instructions of the best programs.
std::vector<std::string> instructions_of(const std::vector<TuneResult>& results) {
  std::vector<std::string> names;
  for (const TuneResult& result : results) {
    const State state = result.state();
    for (std::size_t s = 0; s < state.num_stages(); ++s) {
      if (state.stage(s).hints.has<hints::Tensorize>()) {
        names.push_back(state.stage(s).hints.get<hints::Tensorize>().intrinsic);
      }
    }
  }
  return names;
}

int tune_and_compare(const Arguments& arguments) {
  const Result<Target, std::string> target = cuda_device_target(arguments.target);
  if (!target) {
    throw Error(target.error());
  }
  const GpuCase one = parse_case(arguments.rest.front(), arguments.is_tf32);
  std::remove((arguments.output + ".journal").c_str());
  std::vector<TuneResult> results;
  for (const GpuPart& part : one.parts) {
    results.push_back(tune_part(one, part, *target, arguments));
  }
  Json json{{"workload", one.name}, {"device", device_json(*target)}};
  json["math"] = one.is_tf32 ? "tf32" : "";
  json["tune"] = summary_json(results);
  json["instructions"] = instructions_of(results);
  json.update(compare_on_device(one, results, !arguments.is_unverified));
  json["model"] = one.parts.size() == 1
                      ? model_json(results.front().task, arguments.output + ".journal")
                      : Json{{"programs", 0}, {"spearman", nullptr}};
  std::ofstream(arguments.output + ".part") << json.dump(2) << "\n";
  if (std::rename((arguments.output + ".part").c_str(), arguments.output.c_str()) != 0) {
    throw Error(arguments.output + " cannot be written");
  }
  return 0;
}

int run(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    std::string* const text = word == "--target"   ? &arguments.target
                              : word == "--output" ? &arguments.output
                              : word == "--merge"  ? &arguments.merged
                              : word == "--page"   ? &arguments.page
                                                   : nullptr;
    const bool is_number = word == "--seconds" || word == "--trials";
    if ((text != nullptr || is_number) && i + 1 == argc) {
      throw Error(word + " needs a value");
    }
    if (text != nullptr) {
      *text = argv[++i];
    } else if (is_number) {
      const double value = std::atof(argv[++i]);
      arguments.seconds = word == "--seconds" ? value : arguments.seconds;
      arguments.trials = word == "--trials" ? static_cast<std::int64_t>(value) : arguments.trials;
    } else if (word == "--unverified") {
      arguments.is_unverified = true;
    } else if (word == "--tf32") {
      arguments.is_tf32 = true;
    } else {
      arguments.rest.push_back(word);
    }
  }
  if (arguments.rest.empty() || (arguments.output.empty() && arguments.merged.empty())) {
    throw Error("expected --output FILE WORKLOAD, or --merge RESULT FILE...");
  }
  return arguments.merged.empty() ? tune_and_compare(arguments)
                                  : merge_results(arguments.rest, arguments.merged, arguments.page);
}

}  // namespace
}  // namespace tensorsmith::bench

int main(int argc, char** argv) {
  try {
    return tensorsmith::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gpu: %s\n", error.what());
    return 2;
  }
}
