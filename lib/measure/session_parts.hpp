// SPDX-License-Identifier: Apache-2.0
// What the worker's sessions on a CPU and on a device do alike, apart from where their bytes lie.
//
// Private to lib/ and tools/. Own design.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "measure/control_page.hpp"
#include "measure/protocol.hpp"
#include "tensorsmith/measure/race.hpp"
#include "tensorsmith/measure/verify.hpp"
#include "tensorsmith/measure/winner.hpp"

namespace tensorsmith {

inline MeasureTask task_of(const PrepareRequest& request) {
  MeasureTask task;
  task.input_seed = request.input_seed;
  task.num_threads = request.num_threads;
  for (const ArgumentMessage& message : request.arguments) {
    task.arguments.push_back(message.argument);
  }
  return task;
}

/// One sentence if an argument's data are not what its shape says, or lie outside of the
/// `file_bytes` that came with the request.
inline std::string data_problem(const ArgumentMessage& message, std::uint64_t file_bytes) {
  const KernelArgument& argument = message.argument;
  const auto expected = static_cast<std::size_t>(argument.is_output ? argument.reference_bytes()
                                                                    : argument.num_bytes());
  const bool fits = message.data_bytes == 0 ||
                    (message.data_bytes == expected && message.data_offset <= file_bytes &&
                     message.data_bytes <= file_bytes - message.data_offset);
  return fits ? "" : "the data of argument '" + argument.name + "' has the wrong size";
}

/// Compares the outputs of arguments (spec, reference, rms) with their references, as far as there
/// are some; `read` (argument, span) gives the bytes of one, or false and its own reason in
/// `result`. False: what is wrong is in `result`.
template <class Arguments, class Read>
bool verify_outputs(const Arguments& arguments, const Read& read, MeasureResult& result) {
  result.is_verified = true;
  for (const auto& argument : arguments) {
    if (!argument.spec.is_output) {
      continue;
    }
    if (argument.reference.empty() && argument.spec.num_elements > 0) {
      result.is_verified = false;
      continue;
    }
    std::span<const std::byte> output;
    if (!read(argument, output)) {
      return false;
    }
    const Verdict verdict = verify_output(argument.spec, argument.reference, argument.rms, output);
    if (verdict.status != MeasureStatus::ok) {
      result.status = verdict.status;
      result.message = verdict.message;
      result.is_verified = false;
      return false;
    }
  }
  return true;
}

/// One sentence if the data of an output's hard references are not what they say, or lie outside of
/// the `file_bytes` that came with the request.
inline std::string hard_problem(const ArgumentMessage& message, std::uint64_t file_bytes) {
  const KernelArgument& argument = message.argument;
  for (const HardMessage& hard : message.hard) {
    const bool has_rows = argument.is_output && hard.rows.fits(argument.num_elements);
    const auto count =
        static_cast<std::uint64_t>(has_rows ? hard.rows.elements_of(argument.num_elements) : 0);
    const auto width = static_cast<std::uint64_t>(bytes_of(argument.reference_dtype));
    const bool has_bounds = hard.bound_bytes > 0 || is_float(argument.dtype);  // or exact integers
    if (!has_rows || hard.value_bytes != count * width ||
        hard.bound_bytes != (has_bounds ? count * sizeof(double) : 0) ||
        hard.data_offset > file_bytes ||
        hard.value_bytes + hard.bound_bytes > file_bytes - hard.data_offset) {
      return "the hard references of argument '" + argument.name + "' have the wrong size";
    }
  }
  return {};
}

/// Draws that the outputs have references of.
template <class Arguments>
std::size_t count_hard_draws(const Arguments& arguments) {
  std::size_t count = 0;
  for (const auto& argument : arguments) {
    count = std::max(count, argument.hard.size());
  }
  return count;
}

/// Which draw that is.
template <class Arguments>
HardDraw hard_draw_of(const Arguments& arguments, std::size_t number) {
  HardDraw draw = HardDraw::finite;
  for (const auto& argument : arguments) {
    draw = number < argument.hard.size() ? argument.hard[number].draw : draw;
  }
  return draw;
}

/// As verify_outputs, of the hard draw `number`; `data`: the prepare request's memory.
template <class Arguments, class Read>
bool verify_hard_outputs(const Arguments& arguments, std::size_t number,
                         std::span<const std::byte> data, const Read& read, MeasureResult& result) {
  for (const auto& argument : arguments) {
    if (number >= argument.hard.size()) {
      continue;
    }
    const HardMessage& hard = argument.hard[number];
    std::span<const std::byte> output;
    if (!read(argument, output)) {
      return false;
    }
    const Verdict verdict = verify_hard_output(
        argument.spec, hard.rows, data.subspan(hard.data_offset, hard.value_bytes),
        data.subspan(hard.data_offset + hard.value_bytes, hard.bound_bytes), output);
    if (verdict.status != MeasureStatus::ok) {
      result.status = verdict.status;
      result.message = std::string("with hard inputs (") +
                       (hard.draw == HardDraw::finite ? "finite" : "infinities and NaN") +
                       "): " + verdict.message;
      return false;
    }
  }
  return true;
}

/// When a ranking stops to take on candidates, so that those which are in it are told apart before
/// its time is up (policy.max_wall_ns).
class RankingClock {
 public:
  RankingClock(const RankingPolicy& policy, std::int64_t now_ns)
      : limit_ns_(policy.max_wall_ns), begin_ns_(now_ns), last_ns_(now_ns) {}

  /// Whether there is time for one more. What has to follow takes about as long as what was: two
  /// calls to start, two rounds; and the winner may have to be called with hard inputs twice.
  bool has_time(std::int64_t now_ns) {
    longest_ns_ = std::max(longest_ns_, now_ns - last_ns_);
    last_ns_ = now_ns;
    return limit_ns_ <= 0 || now_ns - begin_ns_ + 2 * longest_ns_ <= limit_ns_ / 2;
  }

 private:
  std::int64_t limit_ns_, begin_ns_, last_ns_, longest_ns_ = 0;
};

/// Calls `start` (index) for every candidate of a ranking that there is time for, and for all until
/// one is good: true.
template <class Start>
void start_candidates(const RankingPolicy& policy, std::vector<MeasureResult>& results,
                      const Start& start) {
  RankingClock clock(policy, monotonic_ns());
  bool has_one = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (clock.has_time(monotonic_ns()) || !has_one) {
      has_one = start(i) || has_one;
    } else {
      results[i].status = MeasureStatus::cancelled;
      results[i].message = "no time was left to rank it";
    }
  }
}

/// Calls `round` as often as the policy wants, and on for its budget.
template <class Round>
void repeat_rounds(const RankingPolicy& policy, const Round& round) {
  const std::int64_t start = monotonic_ns();
  for (std::int32_t done = 0; done < policy.max_rounds; ++done) {
    if (done >= policy.min_rounds && monotonic_ns() - start >= policy.budget_ns) {
      break;
    }
    round();
  }
}

/// None of the candidates can be ranked, and why.
inline void refuse_ranking(const std::string& problem, RankReply& reply) {
  for (MeasureResult& result : reply.results) {
    result.status = MeasureStatus::unknown_error;
    result.message = problem;
  }
}

/// After the last round: statistics of the samples of each candidate, none if it failed; and
/// whoever wins is right for hard inputs. `check` (index, result) calls a candidate with those and
/// says in the result what is wrong, if anything: of those that are not known to be right only the
/// ones that would win are asked, for that takes as long as many rounds.
template <class Check>
void settle_winner(const RankRequest& request, RankReply& reply, const Check& check) {
  std::vector<std::int64_t> complexity;
  for (const CandidateMessage& candidate : request.candidates) {
    complexity.push_back(candidate.complexity);
  }
  RankingResult ranking;
  ranking.results = std::move(reply.results);
  for (MeasureResult& result : ranking.results) {
    if (result.is_ok() && !result.samples_ns.empty()) {
      result.stage = RaceStage::full;
      result.median_ns = median_of(result.samples_ns);
      result.min_ns = *std::min_element(result.samples_ns.begin(), result.samples_ns.end());
    } else {
      result.samples_ns.clear();
    }
  }
  for (;;) {
    choose_winner(ranking, request.policy, complexity);
    if (ranking.winner == RankingResult::no_winner ||
        ranking.results[ranking.winner].is_hard_verified) {
      break;
    }
    MeasureResult& result = ranking.results[ranking.winner];
    check(ranking.winner, result);
    result.is_hard_verified = result.is_ok();
    if (!result.is_ok()) {
      result.samples_ns.clear();
    }
  }
  reply.results = std::move(ranking.results);
}

}  // namespace tensorsmith
