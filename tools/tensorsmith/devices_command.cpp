// SPDX-License-Identifier: Apache-2.0
// tensorsmith devices: what this machine is, which backends there are, and why not the others.
#include <fmt/format.h>

#include "command.hpp"
#include "interrupt.hpp"
#include "tensorsmith/codegen/llvm_compiler.hpp"
#include "tensorsmith/codegen/nvrtc.hpp"
#include "tensorsmith/host.hpp"
#include "tensorsmith/measure/cuda_devices.hpp"
#include "tensorsmith/measure/worker_measurer.hpp"
#include "tensorsmith/tune/calibration.hpp"
#include "tensorsmith/tune/machine_facts.hpp"

namespace tensorsmith::cli {
namespace {

template <class Number>
Json optional_json(const std::optional<Number>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json cpu_json(const HostInfo& host) {
  Json json;
  json["name"] = host.model_name;
  json["vendor"] = host.vendor;
  json["microarchitecture"] =
      host.microarchitecture.empty() ? std::string("unknown") : host.microarchitecture;
  json["isa"] = std::string(to_string(host.isa));
  json["features"] = llvm_feature_string(host.features);
  const Target target = make_host_target(host);
  json["vector_bits"] = target.vector_bits;
  json["cores"] = host.num_cores ? Json(*host.num_cores) : Json(nullptr);
  json["usable_cpus"] = host.usable_cpus.size();
  json["cpu_quota"] = host.cgroup_cpu_quota ? Json(*host.cgroup_cpu_quota) : Json(nullptr);
  json["l1_bytes"] = optional_json(host.caches.l1d_bytes);
  json["l2_bytes"] = optional_json(host.caches.l2_bytes);
  json["l3_bytes"] = optional_json(host.caches.l3_bytes);
  json["l1_ways"] = optional_json(host.caches.l1d_ways);
  json["l2_ways"] = optional_json(host.caches.l2_ways);
  json["l3_ways"] = optional_json(host.caches.l3_ways);
  return json;
}

/// The GPUs of this machine; `detail`: the driver, or why there is none.
Json gpus_json(std::string& detail) {
  Json gpus = Json::array();
#if defined(TENSORSMITH_HAS_CUDA)
  const Result<std::vector<CudaDevice>, std::string> devices = list_cuda_devices();
  if (!devices) {
    detail = devices.error();
    return gpus;
  }
  for (const CudaDevice& device : *devices) {
    const Result<Target, std::string> target =
        cuda_device_target("cuda:" + std::to_string(device.number));
    detail = fmt::format("driver of CUDA {}, {} GPU{}", device.driver, devices->size(),
                         devices->size() == 1 ? "" : "s");
    gpus.push_back({{"target", fmt::format("cuda:{}", device.number)},
                    {"board", device.name},
                    {"uuid", device.uuid},
                    {"class", fmt::format("sm_{}", device.compute_capability)},
                    {"name", target ? Json(target->name) : Json(nullptr)},
                    {"problem", target ? "" : target.error()},
                    {"sms", device.board.num_sms},
                    {"clock_mhz", device.board.clock_mhz},
                    {"dram_gb_per_s", device.board.dram_bytes_per_ns},
                    {"l2_bytes", device.board.l2_bytes},
                    {"memory_bytes", device.memory_bytes},
                    {"driver", device.driver}});
  }
#else
  detail = "this build has no CUDA back end";
#endif
  return gpus;
}

Json backends_json(bool has_gpu, const std::string& driver) {
  Json backends = Json::array();
  backends.push_back(
      {{"name", "cpu"}, {"available", true}, {"detail", "LLVM " + LlvmCompiler::version()}});
  backends.push_back({{"name", "cuda"}, {"available", has_gpu}, {"detail", driver}});
#ifdef TENSORSMITH_HAS_CUDA
  const Result<NvrtcCompiler, std::string> nvrtc = NvrtcCompiler::open();
  backends.push_back(
      {{"name", "nvrtc"},
       {"available", nvrtc.has_value()},
       {"detail",
        nvrtc ? fmt::format("NVRTC {}, {}", nvrtc->version(), nvrtc->path()) : nvrtc.error()}});
#endif
  const std::string worker = find_worker_program();
  backends.push_back(
      {{"name", "worker"},
       {"available", !worker.empty()},
       {"detail",
        worker.empty() ? worker_program_problem() + "; nothing can be measured" : worker}});
  return backends;
}

Json simulated_json() {
  Json boards = Json::array();
  for (const GpuModel& model : gpu_models) {
    const Target target = Target::cuda_board(model);
    const GpuLimits& gpu = *target.gpu;
    boards.push_back(
        {{"target", "sim:" + target.name},
         {"board", std::string(model.title)},
         {"class", "sm_" + std::to_string(model.compute_capability)},
         {"sms", gpu.board->num_sms},
         {"clock_mhz", gpu.board->clock_mhz},
         {"dram_gb_per_s", gpu.board->dram_bytes_per_ns},
         {"l2_bytes", gpu.board->l2_bytes},
         {"f32_gflops", 2e-3 * gpu.f32_fma_rate * gpu.board->num_sms * gpu.board->clock_mhz}});
  }
  return boards;
}

Json simulated_cpus_json() {
  Json cpus = Json::array();
  for (const ArmModel& model : arm_models) {
    if (model.clock_mhz == 0) {
      continue;
    }
    const Target target = make_target(model);
    cpus.push_back({{"target", "sim:" + target.name},
                    {"architecture", "aarch64"},
                    {"clock_mhz", model.clock_mhz},
                    {"has_int8_dot", target.has_int8_dot},
                    {"l1_bytes", optional_json(target.caches.l1d_bytes)},
                    {"l2_bytes", optional_json(target.caches.l2_bytes)},
                    {"f32_gflops", 2e-3 * model.fma_per_cycle * target.vector_lanes(32) *
                                       model.clock_mhz}});  // of one core
  }
  return cpus;
}

std::string cache_text(const Json& bytes, const Json& ways = nullptr) {
  const std::string of = ways.is_null() ? "" : fmt::format(" of {} ways", ways.get<int>());
  return bytes.is_null() ? "unknown"
                         : fmt::format("{} KiB{}", bytes.get<std::int64_t>() / 1024, of);
}

struct DevicesArguments {
  bool is_json = false, calibrates = false, lists_rates = false;
  double seconds = 15;
};

Json probes_json(const CoreProbes& probes) {
  Json json = {{"ns_per_cycle", probes.ns_per_cycle},
               {"bytes_per_cycle", Json::array()},
               {"latency", Json::array()},
               {"num_pages", optional_json(probes.num_pages)},
               {"page_miss", Json::array()},
               {"tracked", optional_json(probes.tracked)},
               {"best_streams", optional_json(probes.best_streams)}};
  for (std::size_t level = 0; level < 3; ++level) {
    json["bytes_per_cycle"].push_back(optional_json(probes.bytes_per_cycle[level]));
    json["latency"].push_back(optional_json(probes.latency[level]));
  }
  for (const std::optional<double>& cycles : probes.page_miss) {
    json["page_miss"].push_back(optional_json(cycles));
  }
  return json;
}

/// What the analytic model believes of a core of this machine, and where it is from.
Json rates_json(const DevicesArguments& arguments) {
  const Target& host = host_target();
  const std::string path = rates_file(host);
  Json json;
  json["machine"] = machine_name(host);
  json["fingerprint"] = machine_fingerprint(host);
  if (arguments.calibrates) {
    if (path.empty()) {
      throw Error("neither XDG_CACHE_HOME nor HOME is set: there is no folder to keep rates in");
    }
    const auto made = calibrate_machine(host, arguments.seconds, [] { return is_interrupted(); });
    if (!made) {
      throw Error(made.error());
    }
    if (const auto written = write_rates(path, *made); !written) {
      throw Error(written.error());
    }
    json["probes"] = probes_json(made->probes);
  }
  const Result<MachineRates, std::string> kept = read_rates(path, host);
  json["file"] = kept ? Json(path) : Json(nullptr);
  json["num_programs"] = kept ? Json(kept->num_programs) : Json(nullptr);
  json["error_before"] = kept ? Json(kept->error_before) : Json(nullptr);
  json["error_after"] = kept ? Json(kept->error_after) : Json(nullptr);
  json["numbers"] = Json::object();
  for (const MachineFact& fact : machine_facts(host)) {
    json["numbers"][fact.name] = {{"value", fact.value}, {"from", fact.source}};
  }
  return json;
}

std::string list_text(const Json& numbers, int digits) {
  std::string text;
  for (const Json& number : numbers) {
    text += text.empty() ? "" : ", ";
    text += number.is_null() ? "unknown" : fmt::format("{:.{}f}", number.get<double>(), digits);
  }
  return text;
}

void print_rates(const Json& json, bool lists) {
  if (json.contains("probes")) {
    const Json& probes = json["probes"];
    fmt::print("measured: {:.3f} ns a cycle; bytes per cycle from L2, L3, memory: {}; cycles until "
               "they are there: {}; a page more: {}\n",
               probes["ns_per_cycle"].get<double>(), list_text(probes["bytes_per_cycle"], 1),
               list_text(probes["latency"], 0), list_text(probes["page_miss"], 0));
  }
  if (json["file"].is_null()) {
    fmt::print("rates of a core: {} (tensorsmith devices --calibrate)\n",
               json["numbers"]["streams"]["from"].get<std::string>());
  } else {
    fmt::print("rates of a core: fitted to {} programs, error {:.3f} -> {:.3f}, kept in {}\n",
               json["num_programs"].get<std::int64_t>(), json["error_before"].get<double>(),
               json["error_after"].get<double>(), json["file"].get<std::string>());
  }
  if (lists) {
    for (const auto& [name, rate] : json["numbers"].items()) {
      fmt::print("  {:<20} {:>12.9g}  {}\n", name, rate["value"].get<double>(),
                 rate["from"].get<std::string>());
    }
  }
}

int print_devices(const DevicesArguments& arguments) {
  Json json;
  json["cpu"] = cpu_json(probe_host());
  json["rates"] = rates_json(arguments);
  std::string driver;
  json["gpus"] = gpus_json(driver);
  json["backends"] = backends_json(!json["gpus"].empty(), driver);
  json["simulated"] = simulated_json();
  json["simulated_cpus"] = simulated_cpus_json();
  if (arguments.is_json) {
    print_json(json);
    return exit_ok;
  }
  const Json& cpu = json["cpu"];
  fmt::print("cpu: {} ({}, {}), {}-bit vectors\n", cpu["name"].get<std::string>(),
             cpu["microarchitecture"].get<std::string>(), cpu["isa"].get<std::string>(),
             cpu["vector_bits"].get<int>());
  fmt::print("cores: {}, usable logical CPUs: {}\n",
             cpu["cores"].is_null() ? "unknown" : cpu["cores"].dump(), cpu["usable_cpus"].dump());
  fmt::print("caches: L1 {}, L2 {}, L3 {}\n", cache_text(cpu["l1_bytes"], cpu["l1_ways"]),
             cache_text(cpu["l2_bytes"], cpu["l2_ways"]),
             cache_text(cpu["l3_bytes"], cpu["l3_ways"]));
  print_rates(json["rates"], arguments.lists_rates);
  for (const Json& backend : json["backends"]) {
    fmt::print("{}: {} ({})\n", backend["name"].get<std::string>(),
               backend["available"].get<bool>() ? "yes" : "no",
               backend["detail"].get<std::string>());
  }
  for (const Json& gpu : json["gpus"]) {
    fmt::print("{}: {}, {}, {} SMs, {:.0f} GB/s, {:.1f} GiB{}\n", gpu["target"].get<std::string>(),
               gpu["board"].get<std::string>(), gpu["class"].get<std::string>(),
               gpu["sms"].get<int>(), gpu["dram_gb_per_s"].get<double>(),
               gpu["memory_bytes"].get<double>() / (1 << 30),
               gpu["name"].is_null() ? "; " + gpu["problem"].get<std::string>() : "");
  }
  fmt::print("simulated GPUs (--target NAME; times come from a model, nothing is run):\n");
  for (const Json& board : json["simulated"]) {
    fmt::print("  {}: {}, {}, {} SMs, {:.0f} GB/s, {:.1f} TFLOP/s f32\n",
               board["target"].get<std::string>(), board["board"].get<std::string>(),
               board["class"].get<std::string>(), board["sms"].get<int>(),
               board["dram_gb_per_s"].get<double>(), board["f32_gflops"].get<double>() / 1e3);
  }
  fmt::print("simulated processors (the same; export writes code for them):\n");
  for (const Json& other : json["simulated_cpus"]) {
    fmt::print("  {}: {}, L1 {}, L2 {}, {:.1f} GFLOP/s f32 of a core{}\n",
               other["target"].get<std::string>(), other["architecture"].get<std::string>(),
               cache_text(other["l1_bytes"]), cache_text(other["l2_bytes"]),
               other["f32_gflops"].get<double>(),
               other["has_int8_dot"].get<bool>() ? ", products of bytes" : "");
  }
  return exit_ok;
}

}  // namespace

void add_devices(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<DevicesArguments>();
  CLI::App* command = app.add_subcommand(
      "devices",
      "What this machine is and which backends there are.\nExample: tensorsmith devices");
  command->add_flag("--json", arguments->is_json, "one JSON object on standard output");
  command->add_flag("--calibrate", arguments->calibrates,
                    "time programs, fit what a core moves per cycle and waits for, and keep it");
  command->add_option("--seconds", arguments->seconds, "of --calibrate")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  command->add_flag("--rates", arguments->lists_rates,
                    "every number that is believed of a core, and where it is from");
  command->callback(
      [arguments, &action] { action = [arguments] { return print_devices(*arguments); }; });
}

}  // namespace tensorsmith::cli
