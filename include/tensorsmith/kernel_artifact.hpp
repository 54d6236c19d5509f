// SPDX-License-Identifier: Apache-2.0
// KernelArtifact: a tuned kernel that can be written to a file and called in another process.
//
// Floor 8; compiled in lib/tune. Own design. A file is complete and undamaged, or it is refused;
// code is refused where a processor lacks what it was compiled for. What is loaded is executed, so
// load only files of whom you would run programs. Not here: tuning (tune.hpp), source text
// (TuneResult::source).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/kernel.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith {

struct KernelArtifact {
  KernelSignature signature;
  std::vector<std::byte> object;  ///< machine code, relocatable
  std::int32_t num_threads = 1;   ///< that it was tuned for; it runs on any number

  std::string workload;       ///< workload string, or the computation in index notation
  std::string workload_key;   ///< hash of the computation and its shapes
  std::string target;         ///< as a person names it
  std::string cpu, features;  ///< what the code was compiled for: LLVM's names
  std::string version;        ///< of the library that made it
  double best_ns = 0;         ///< measured; 0: not known
};

/// One self-contained run of bytes, the same on every machine.
std::string artifact_bytes(const KernelArtifact& artifact);
/// The way back, or one sentence that says what is wrong with the bytes.
Result<KernelArtifact, std::string> artifact_from_bytes(std::string_view bytes);

/// Writes or reads a file; a sentence that names it if that fails.
Result<Done, std::string> save_artifact(const KernelArtifact& artifact, const std::string& path);
Result<KernelArtifact, std::string> load_artifact(const std::string& path);

/// Why this machine cannot run it, in one sentence; empty if it can.
std::string refusal_of(const KernelArtifact& artifact);

/// Throws Error for code that this machine cannot run or link.
Kernel kernel_of(const KernelArtifact& artifact, Runtime runtime);
Kernel kernel_of(const KernelArtifact& artifact);

}  // namespace tensorsmith
