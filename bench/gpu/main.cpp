// requires: cuda json llvm
// bench_gpu: tunes workloads on a GPU of this machine and compares with libraries in the same run.
//
//   bench_gpu [--target NAME] [--seconds S] [--trials N] [--unverified] --output FILE WORKLOAD
//   bench_gpu --merge RESULT [--page PAGE] FILE...
// The best program and the libraries take turns, round by round, so that drift of the clock hits
// all alike; ratios are medians over the rounds. Plain products: cuBLAS and cuBLASLt; everything: a
// copy on the device that moves as many bytes as the arguments have. A library that is not there is
// named. The trials' times are compared with those of the simulated board, by rank. --merge makes
// one file of several and writes its table into PAGE, between the lines that mark it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/gpu/blas.hpp"
#include "bench/gpu/table.hpp"
#include "cuda/device_lease.hpp"
#include "tensorsmith/codegen/nvrtc.hpp"
#include "tensorsmith/measure/fill.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/tune.hpp"
#include "tune/gpu.hpp"
#include "tune/measure_task.hpp"
#include "tune/replay_steps.hpp"

namespace tensorsmith::bench {
namespace {

using Json = nlohmann::json;

constexpr double most_verified_flop = 2e10;  // its reference takes seconds on a CPU
constexpr int num_rounds = 30;
constexpr double sample_ns = 500'000;

struct Arguments {
  std::string target = "cuda", output, merged, page;
  double seconds = 0;
  std::int64_t trials = 0;
  bool is_unverified = false;
  std::vector<std::string> rest;
};

void require_good(cuda::Status status, const cuda::Device& device, const char* what) {
  if (status != 0) {
    throw Error(std::string(what) + ": " + device.driver().name_of(status));
  }
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

/// One contestant: how it is enqueued and what it took.
struct Contestant {
  GpuPeer peer;
  std::int64_t calls = 1;
  std::vector<double> samples;
};

double time_once(cuda::Device& device, Contestant& one) {
  double ns = 0;
  require_good(device.time_enqueued(one.calls, one.peer.enqueue, ns), device,
               one.peer.name.c_str());
  return ns;
}

/// Ours first. Every one runs until the clocks are those of a busy device, then all in turn. What
/// a library refuses to do, it is absent for.
void race(cuda::Device& device, std::vector<Contestant>& all) {
  for (Contestant& one : all) {
    const cuda::Status status = one.peer.absent.empty() ? one.peer.enqueue() : 0;
    if (status != 0 && &one != all.data()) {
      one.peer.absent = "it refuses this product with status " + std::to_string(status);
    }
    for (int i = 0; one.peer.absent.empty() && i < 6; ++i) {
      const double ns = time_once(device, one);
      one.calls = std::clamp<std::int64_t>(static_cast<std::int64_t>(sample_ns / ns), 1, 1000);
    }
  }
  for (int round = 0; round < num_rounds; ++round) {
    for (Contestant& one : all) {
      if (one.peer.absent.empty()) {
        one.samples.push_back(time_once(device, one));
      }
    }
  }
}

Json peer_json(const Contestant& one, const Contestant& ours) {
  if (!one.peer.absent.empty()) {
    return {{"absent", one.peer.absent}};
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.samples.size(); ++i) {
    ratios.push_back(one.samples[i] / ours.samples[i]);
  }
  return {{"version", one.peer.version},        {"ns", quantile(one.samples, 0.5)},
          {"ratio", quantile(ratios, 0.5)},     {"ratio_p10", quantile(ratios, 0.1)},
          {"ratio_p90", quantile(ratios, 0.9)}, {"samples_ns", one.samples}};
}

/// The sizes if the workload is a plain product of that name: two inputs, one output, no options.
bool is_plain_product(const std::string& workload) {
  return workload.starts_with("gemm:") && workload.find(',') == std::string::npos;
}

/// The best program on the device, among its peers.
Json compare(const TuneResult& result) {
  auto opened = cuda::Device::open(result.task.target.device.value_or(0));
  if (!opened) {
    throw Error(opened.error());
  }
  cuda::Device& device = **opened;
  cuda::DeviceLease lease;
  if (const std::string problem = lease.take(device.facts().uuid, device.facts().name);
      !problem.empty()) {
    throw Error(problem);
  }
  std::optional<cuda::CudaObject> object = cuda::decode_object(result.object);
  if (!object) {
    throw Error("the best program is no code for a GPU");
  }
  const MeasureTask task = make_measure_task(*result.task.dag, 1, 1);
  std::vector<cuda::DeviceBuffer> buffers(task.arguments.size());
  cuda::DeviceBuffer workspace, copied;
  std::vector<cuda::DevicePointer> pointers;
  std::vector<std::byte> host;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const auto size = static_cast<std::size_t>(task.arguments[i].num_bytes());
    require_good(buffers[i].create(device, size), device, "allocating");
    host.assign(size, std::byte{});
    if (!task.arguments[i].is_output) {
      fill_input(task, i, host);
    }
    require_good(device.driver().to_device(buffers[i].data(), host.data(), size), device, "copy");
    pointers.push_back(buffers[i].data());
  }
  const auto half = static_cast<std::size_t>(task.num_bytes() / 2);
  require_good(workspace.create(device, static_cast<std::size_t>(object->workspace_bytes)), device,
               "allocating");
  require_good(copied.create(device, 2 * half), device, "allocating");
  cuda::LoadedProgram program;
  require_good(device.load(std::move(*object), program), device, "loading");
  device.bind(program, pointers, workspace.data());

  std::vector<Contestant> all(1);
  all[0].peer.name = "ours";
  all[0].peer.enqueue = [&] { return device.enqueue(program); };
  if (is_plain_product(result.task.workload)) {
    const ComputeDag& dag = *result.task.dag;
    const TensorInfo &a = dag.tensor(dag.arguments()[0]), &c = dag.tensor(dag.arguments()[2]);
    const GpuProduct product{a.shape[0], c.shape[1],  a.shape[1],  a.dtype,
                             c.dtype,    pointers[0], pointers[1], pointers[2]};
    all.push_back({open_cublas(device, product), 1, {}});
    all.push_back({open_cublas_lt(device, product), 1, {}});
  }
  GpuPeer copy;
  copy.name = "copy";
  copy.enqueue = [&] {
    return device.driver().copy(copied.data(), copied.data() + half, half, device.stream());
  };
  all.push_back({copy, 1, {}});
  const cuda::ClockState before = device.clocks().read();
  race(device, all);
  const cuda::ClockState after = device.clocks().read();
  Json json{{"ours_ns", quantile(all[0].samples, 0.5)}, {"samples_ns", all[0].samples}};
  for (std::size_t i = 1; i < all.size(); ++i) {
    json["peers"][all[i].peer.name] = peer_json(all[i], all[0]);
  }
  json["clocks"] = {{"sm_mhz_before", before.sm_mhz}, {"sm_mhz_after", after.sm_mhz},
                    {"memory_mhz", after.memory_mhz}, {"temperature_c", after.temperature_c},
                    {"reasons", after.reasons},       {"is_throttled", after.is_throttled()}};
  device.unload(program);
  return json;
}

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

int tune_and_compare(const Arguments& arguments) {
  const Result<Target, std::string> target = cuda_device_target(arguments.target);
  if (!target) {
    throw Error(target.error());
  }
  const std::string& workload = arguments.rest.front();
  const auto parsed = ops::parse_workload(workload);
  if (!parsed) {
    throw Error(parsed.error());
  }
  const TuneTask task{parsed->dag, *target, workload, parsed->nominal_flop};
  TuneOptions options;
  options.budget = {arguments.seconds, arguments.trials};
  options.database = arguments.output + ".journal";
  options.verifies = !arguments.is_unverified && parsed->nominal_flop <= most_verified_flop;
  std::remove(options.database.c_str());
  const TuneResult result = tune(task, options);
  Json json{{"workload", workload}, {"device", device_json(*target)}};
  const TuneSummary& summary = result.summary;
  json["tune"] = {{"trials", summary.trials},
                  {"seconds", summary.seconds},
                  {"prepare_seconds", summary.prepare_seconds},
                  {"trials_per_second", static_cast<double>(summary.trials) / summary.seconds},
                  {"best_ns", summary.best_ns},
                  {"verified", summary.is_verified},
                  {"message", summary.message},
                  {"first_failure", summary.first_failure}};
  json["tune"]["failed"] = Json::object();
  for (std::size_t i = 1; i < num_measure_statuses; ++i) {
    if (summary.statuses[i] > 0) {
      json["tune"]["failed"][std::string(name_of(static_cast<MeasureStatus>(i)))] =
          summary.statuses[i];
    }
  }
  if (!result.has_best()) {
    throw Error(workload + ": no candidate succeeded: " + summary.first_failure);
  }
  double bytes = 0;
  for (const KernelArgument& argument : make_measure_task(*task.dag, 1, 1).arguments) {
    bytes += static_cast<double>(argument.num_bytes());
  }
  json.update(compare(result));
  const double ns = json["ours_ns"];
  json["gflops"] = task.flop / ns;
  json["gb_per_s"] = bytes / ns;
  json["model"] = model_json(task, options.database);
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
