// SPDX-License-Identifier: Apache-2.0
// State or dag -> machine code of this machine, in the driver's terms.
//
// Private to lib/ and tests. Own design: the only file of lib/tune that knows the LLVM back end.
#pragma once

#include <cstdint>
#include <string>

#include "tensorsmith/tune/backend.hpp"

namespace tensorsmith {

/// Lowers and compiles states for one target. Code for one thread has no parallel loops; it runs on
/// one whatever it is given.
Owned<CandidateBuilder> make_candidate_builder(const Target& target, std::int32_t num_threads);

/// Assembly text of a state's code as the builder of that number of threads makes it, of both
/// functions if there are two. Throws Error.
std::string assembly_of(const State& state, const Target& target, std::int32_t num_threads);

/// Runs unscheduled programs in this process, one thread.
PlainRunner make_plain_runner(const Target& target);

}  // namespace tensorsmith
