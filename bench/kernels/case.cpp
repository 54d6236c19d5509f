// requires: llvm json
#include "case.hpp"

#include <functional>
#include <utility>

#include "bench/support/aligned_buffer.hpp"
#include "bench/support/paired.hpp"
#include "bench/support/reference.hpp"
#include "problem.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/te/flop.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith::bench {
namespace {

/// Our arguments in the kernel's order, and the same memory in the words of a problem.
struct Operands {
  std::vector<AlignedBuffer> storage;
  std::vector<void*> pointers;
  Buffers buffers;

  explicit Operands(const KernelSignature& signature) {
    std::vector<float*> inputs;
    for (const KernelParameter& parameter : signature.parameters) {
      const std::int64_t bytes = parameter.num_elements * bytes_of(parameter.dtype);
      storage.emplace_back((bytes + 3) / 4);
      float* data = storage.back().data();
      pointers.push_back(data);
      if (parameter.is_output) {
        buffers.output = buffers.output == nullptr ? data : buffers.output;
        continue;
      }
      if (parameter.dtype == DType::f32) {
        storage.back().fill_random(storage.size());
      }
      inputs.push_back(data);
    }
    buffers.input = !inputs.empty() ? inputs[0] : nullptr;
    buffers.weights = inputs.size() > 1 ? inputs[1] : nullptr;
    buffers.bias = inputs.size() > 2 ? inputs[2] : nullptr;
  }
};

bool fits(const ProblemSizes& sizes, const KernelSignature& signature) {
  std::int64_t ours = 0;
  for (const KernelParameter& parameter : signature.parameters) {
    ours += parameter.num_elements;
  }
  return ours == sizes.input + sizes.weights + sizes.bias + sizes.output;
}

}  // namespace

nlohmann::ordered_json run_case(const std::string& suite, const std::string& text,
                                const CaseOptions& options, const Roofline& roofline,
                                std::vector<FoundPeer>& peers) {
  const Result<ops::Workload, std::string> workload = ops::parse_workload(text);
  if (!workload) {
    throw Error(workload.error());
  }
  TuneTask task{workload->dag, host_target(), workload->name};
  TuneOptions tuning;
  tuning.budget.seconds = options.tune_seconds;
  tuning.seed = options.seed;
  tuning.num_threads = options.threads;
  const TuneResult result = tune(task, tuning);

  nlohmann::ordered_json entry;
  entry["suite"] = suite;
  entry["workload"] = text;
  entry["class"] = std::string(1, ops::letter_of(workload->packing));
  entry["threads"] = options.threads;
  entry["ours_gflops"] = nullptr;
  entry["peers"] = nlohmann::ordered_json::object();
  entry["peak_fraction"] = nullptr;
  entry["roofline_ns"] = nullptr;
  entry["verified"] = false;
  entry["tune_seconds"] = result.summary.seconds;
  entry["trials"] = result.summary.trials;
  if (!result.has_best()) {
    entry["problem"] =
        result.summary.message.empty() ? result.summary.first_failure : result.summary.message;
    return entry;
  }
  const Kernel kernel = result.kernel();
  Operands operands(kernel.signature());
  std::optional<Problem> problem = problem_of(*workload);
  if (problem && !fits(sizes_of(*problem), kernel.signature())) {
    problem.reset();
  }
  const double flop =
      problem && sizes_of(*problem).flop > 0 ? sizes_of(*problem).flop : workload->nominal_flop;
  const auto ours = [&] { kernel.call_unchecked(operands.pointers.data()); };
  ours();
  if (problem) {
    // Our own check, beside the one of every candidate during the search.
    const VerifyResult check = verify(*problem, operands.buffers, operands.buffers.output);
    entry["verified"] = check.ok && result.summary.is_verified;
    entry["max_error_over_bound"] = check.max_error_over_bound;
    entry["roofline_ns"] = roofline_ns(flop, sizes_of(*problem).bytes(), roofline, options.threads);
  } else {
    entry["verified"] = result.summary.is_verified;
  }

  std::vector<std::function<void()>> contestants{ours};
  std::vector<Peer*> racing;
  const auto packing = static_cast<PackingClass>(static_cast<int>(workload->packing));
  AlignedBuffer peer_output(problem ? sizes_of(*problem).output : 1);
  for (FoundPeer& found : peers) {
    if (!found.peer || !problem) {
      entry["peers"][found.name] = {
          {"missing", found.peer ? "no such operation in this library" : found.reason}};
      continue;
    }
    Buffers buffers = operands.buffers;
    buffers.output = peer_output.data();
    const Prepared prepared = found.peer->prepare(*problem, buffers, packing, options.threads);
    if (!prepared.ok) {
      entry["peers"][found.name] = {{"missing", prepared.reason}};
      continue;
    }
    peer_output.fill(0.0F);
    found.peer->run();
    found.peer->write_output();
    const VerifyResult check = verify(*problem, operands.buffers, peer_output.data());
    if (!check.ok) {
      entry["peers"][found.name] = {{"missing", "its result differs: " + check.message}};
      continue;
    }
    racing.push_back(found.peer.get());
    contestants.emplace_back([peer = found.peer.get()] { peer->run(); });
  }

  Calibration calibration;
  calibration.before_gflops = measure_peak_gflops();
  PairOptions pairs;
  pairs.pairs = options.pairs;
  const std::vector<ContestantTimes> times = measure_interleaved(contestants, pairs);
  calibration.after_gflops = measure_peak_gflops();

  entry["ours_ns"] = times[0].median_ns;
  entry["ours_gflops"] = flop / times[0].median_ns;
  entry["peak_fraction"] = flop / times[0].median_ns / (calibration.gflops() * options.threads);
  entry["pairs"] = times[0].sample_ns.size();
  entry["calibration"] = {{"gflops", calibration.gflops()},
                          {"moved", calibration.moved()},
                          {"stable", calibration.is_stable()}};
  for (std::size_t i = 0; i < racing.size(); ++i) {
    const ContestantTimes& t = times[i + 1];
    entry["peers"][racing[i]->name()] = {{"gflops", flop / t.median_ns},
                                         {"ratio", t.ratio},
                                         {"ratio_p10", t.ratio_p10},
                                         {"ratio_p90", t.ratio_p90},
                                         {"impl", racing[i]->impl_info()}};
  }
  return entry;
}

}  // namespace tensorsmith::bench
