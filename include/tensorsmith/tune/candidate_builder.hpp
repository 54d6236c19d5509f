// SPDX-License-Identifier: Apache-2.0
// CandidateBuilder: a state becomes code that a measurer takes.
//
// Floor 10. Own design. What the code is, builder and measurer of a backend agree on. Not here:
// which builder a target has (tune/backend.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/measure/measurer.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

struct BuiltCandidate {
  std::vector<std::byte> object;
  std::string entry;
  std::int64_t shared_bytes = 0;
  std::int64_t per_thread_bytes = 0;
  PrepackCode prepack;
  std::vector<std::int32_t> overwritable = {};  ///< arguments in whose memory the result may lie
};

/// What the measurer takes; `id` as in CompiledCandidate. The code must outlive it.
inline CompiledCandidate candidate_of(const BuiltCandidate& built, std::uint64_t id) {
  return {id, built.object, built.entry, built.shared_bytes, built.per_thread_bytes, built.prepack};
}

/// State -> object code. Called by at most num_threads() threads at a time, not always the same.
class CandidateBuilder {
 public:
  CandidateBuilder() = default;
  CandidateBuilder(const CandidateBuilder&) = delete;
  CandidateBuilder& operator=(const CandidateBuilder&) = delete;
  virtual ~CandidateBuilder() = default;
  virtual Result<BuiltCandidate, MeasureFault> build(const State& state) = 0;
  virtual std::int32_t num_threads() const { return 1; }
  /// One like it that shares nothing with it, so that a build that takes too long can be left to
  /// itself. Null: there is none, and every build is waited for.
  virtual Shared<CandidateBuilder> another() const { return nullptr; }
};

}  // namespace tensorsmith
