// SPDX-License-Identifier: Apache-2.0
// NvrtcCompiler: CUDA text to machine code of a GPU, on machines with and without one.
//
// Floor 5. Own design. Needs the `cuda` library; NVRTC itself is opened when it is first used, so
// one program runs where it is installed and where it is not. No NVRTC type appears here. Not here:
// the driver, launches, timing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/codegen/cuda_launch.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// What the compiler made of one kernel.
struct CubinKernel {
  std::string name;
  std::int32_t num_registers = 0;  ///< per thread
  std::int64_t stack_bytes = 0;    ///< per thread, in local memory: arrays and spilled registers
  std::int64_t spill_bytes = 0;    ///< of them, stored because registers ran out
  std::int64_t shared_bytes = 0;   ///< per block, static

  bool operator==(const CubinKernel&) const = default;
};

struct Cubin {
  std::string code;  ///< ELF
  std::vector<CubinKernel> kernels;
  std::string log;  ///< of the compiler
};

/// One text to compile.
struct NvrtcJob {
  std::string_view text;
  std::string architecture;  ///< as nvrtc_architecture() gives it
};

/// Holds the library; copies share it. Every function may be called on several threads at once.
class NvrtcCompiler {
 public:
  /// Opens `path` (the library or the folder it is in). Without one: $TENSORSMITH_NVRTC, else the
  /// system's libraries and CUDA toolkits, else what scripts/setup.sh --nvrtc has fetched.
  /// Error: one sentence that says where was looked.
  static Result<NvrtcCompiler, std::string> open(const std::string& path = {});

  const std::string& version() const;  ///< "12.9"
  const std::string& path() const;     ///< of the library

  /// Error: the compiler's log.
  Result<Cubin, std::string> compile(const NvrtcJob& job) const;

  /// All of them on `num_threads` threads, in the order of the jobs. 0: one thread per core.
  std::vector<Result<Cubin, std::string>> compile_all(const std::vector<NvrtcJob>& jobs,
                                                      std::int32_t num_threads = 0) const;

  /// Keeps compiled code in `folder`, by text, options and version; what was compiled before is
  /// read from there, by this process or another. Damaged files are compiled anew. Above
  /// `max_bytes` the files that were not used for longest go. Error: one sentence.
  Result<Done, std::string> use_cache(const std::string& folder,
                                      std::int64_t max_bytes = std::int64_t{512} << 20);
  std::int64_t num_cache_hits() const;

 private:
  struct Implementation;
  Shared<Implementation> implementation_;
};

/// "sm_80"; of sm_90 the variant with the instructions of that class only: "sm_90a".
inline std::string nvrtc_architecture(const GpuLimits& limits) {
  return "sm_" + std::to_string(limits.compute_capability) +
         (limits.compute_capability == 90 ? "a" : "");
}

/// The kernels of a cubin, with what its ELF says: registers, stack and shared memory. Their
/// spilled bytes are those of the compiler's log; without a log all of the stack counts as spilled.
/// Error: what is wrong with the file.
Result<std::vector<CubinKernel>, std::string> read_cubin(std::string_view code,
                                                         std::string_view log);

/// Whether a compiled kernel keeps a device's limits; if not, one sentence. It may spill.
Result<Done, std::string> check_kernel(const CubinKernel& kernel, const CudaLaunch& launch,
                                       const GpuLimits& limits);

}  // namespace tensorsmith
