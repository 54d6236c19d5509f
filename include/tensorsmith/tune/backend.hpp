// SPDX-License-Identifier: Apache-2.0
// Backend: what a target is to a run: who builds, who measures, who computes references, and facts.
//
// Floor 10; compiled in lib/tune. Own design. The one place that tells kinds of devices apart;
// make_backend() decides by the target, and everybody else asks its answer. Making one costs
// nothing: what a machine lacks (a compiler, a worker) is said when it is asked for. Not here: code
// generation, processes.
#pragma once

#include <cstdint>
#include <string>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/kernel.hpp"
#include "tensorsmith/measure/measurer.hpp"
#include "tensorsmith/measure/simulated_device.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/owned.hpp"
#include "tensorsmith/target.hpp"
#include "tensorsmith/tune/candidate_builder.hpp"
#include "tensorsmith/tune/measure_task.hpp"

namespace tensorsmith {

struct BackendFacts {
  std::string device_name;   ///< of records: the processor, the board, "simulated"
  std::string machine = {};  ///< of records: machine_fingerprint(), where that is what it is
  /// False: times come from a model; nothing is compiled, run or verified, and no memory is needed.
  bool runs_code = true;
  /// A kernel runs on the threads that it is built for, and the calibrated peak is that of one.
  bool has_threads = true;
  double build_limit_seconds = 5;  ///< a slower build is a failure
  /// Programs of a round in the beginning. More where many are built side by side for about the
  /// price of one. Not the number of cores: the programs of a run do not depend on the machine.
  std::size_t first_round_size = 8;
};

struct MeasurerOptions {
  std::string worker_path;    ///< see WorkerOptions
  double start_seconds = 10;  ///< how long a worker may take to start
  SimulatedDevice simulated;  ///< noise and faults, where times come from a model
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  virtual BackendFacts facts() const = 0;

  /// For kernels on that many threads. Throws Error where there is no compiler for the target.
  virtual Owned<CandidateBuilder> make_builder(std::int32_t num_threads) const = 0;

  /// Measures what the builder makes. Throws Error if there is no worker program.
  virtual Owned<Measurer> make_measurer(const MeasurerOptions& options) const = 0;

  /// Runs unscheduled programs in this process, on one thread; empty: nothing is verified.
  virtual PlainRunner make_reference() const = 0;

  /// A program that needs no search: as written, where that runs at all. Throws Error.
  virtual State untuned(const Shared<const ComputeDag>& dag) const = 0;

  /// Text that a compiler of the target takes, with the function that a caller calls. Throws Error.
  virtual std::string source(const LoopProgram& program, std::int32_t num_threads,
                             const std::string& name, const std::string& comment) const = 0;

  /// Of the code that the builder makes, of both functions if there are two. Throws Error that says
  /// what to do instead.
  virtual std::string assembly(const State& state, std::int32_t num_threads) const = 0;

  /// Why a kernel of this target cannot be called in this process; empty: it can.
  virtual std::string call_problem() const { return {}; }

  /// What the model that times programs says of this one, for people; empty: there is no such
  /// model.
  virtual std::string model_text(const State& state) const {
    (void)state;
    return {};
  }
};

Owned<Backend> make_backend(const Target& target);

/// How the kernel, and what packs its constants, are called.
KernelSignature signature_of(const BuiltCandidate& built, const ComputeDag& dag);

}  // namespace tensorsmith
