// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Candidates whose constant operands are packed by a function of their own, in worker processes.
#include "tensorsmith/measure/worker_measurer.hpp"

#include "support/catch.hpp"
#include "worker_fixture.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

constexpr std::int64_t count = 1000;

/// Kernels of B = 2 A + 1 that read 2 A from a packed buffer. prepack: args A, packed; kernel: args
/// packed, B.
const std::vector<std::byte>& packing_zoo() {
  static const std::vector<std::byte> object = compile_c(
      "#define P ((const float*)args[0])\n"
      "KERNEL(pack) { " +
      loop(count, "B[i] = 2 * A[i];") + " }\n" + "KERNEL(pack_too_far) { " +
      loop(count + 1, "B[i] = 0;") + " }\n" +
      "KERNEL(pack_forever) { for (;;) { __asm__ volatile(\"\"); } }\n" +
      "KERNEL(pack_nothing) { }\n" + "KERNEL(add) { " + loop(count, "B[i] = P[i] + 1;") + " }\n" +
      "KERNEL(add_in_place) { " + loop(count, "((float*)P)[i] += 1; B[i] = P[i];") + " }\n");
  return object;
}

CompiledCandidate packing_candidate(const std::string& pack, const std::string& kernel) {
  CompiledCandidate candidate = candidate_of(packing_zoo(), kernel);
  candidate.prepack = {pack, {{"A.packed", DType::f32, count}}, {0, 2}, {2, 1}};
  return candidate;
}

MeasureContext quick_context() {
  MeasureContext context;
  context.racing.first_timeout_ns = 300'000'000;
  return context;
}

}  // namespace

TEST_CASE("packing happens once and is not part of what is timed or verified as the kernel") {
  TENSORSMITH_NEEDS(!packing_zoo().empty(), "no C compiler");
  WorkerMeasurer measurer(worker_options());
  REQUIRE(measurer.prepare(affine_task(count)));
  std::vector<CompiledCandidate> candidates = {packing_candidate("pack", "add"),
                                               candidate_of(zoo<count>(), "good"),
                                               packing_candidate("pack_nothing", "add"),
                                               packing_candidate("pack_too_far", "add"),
                                               packing_candidate("pack_forever", "add"),
                                               packing_candidate("pack", "add_in_place"),
                                               packing_candidate("no_such_function", "add"),
                                               packing_candidate("pack", "add")};
  candidates[7].prepack.kernel_arguments = {3, 1};
  const std::vector<MeasureResult> results = measurer.measure(candidates, quick_context());
  const MeasureStatus expected[] = {MeasureStatus::ok,          MeasureStatus::ok,
                                    MeasureStatus::nan_result,  MeasureStatus::out_of_bounds,
                                    MeasureStatus::run_timeout, MeasureStatus::out_of_bounds,
                                    MeasureStatus::load_error,  MeasureStatus::load_error};
  for (std::size_t i = 0; i < results.size(); ++i) {
    INFO(i << ": " << results[i].message);
    CHECK(results[i].status == expected[i]);
    CHECK(results[i].is_verified == results[i].is_ok());
  }
  CHECK(results[3].message.find("packed operand 'A.packed'") != std::string::npos);
  CHECK(results[5].message == "write at byte 0 of packed operand 0");
}

TEST_CASE("the final ranking packs for every candidate apart") {
  TENSORSMITH_NEEDS(!packing_zoo().empty(), "no C compiler");
  WorkerMeasurer measurer(worker_options());
  REQUIRE(measurer.prepare(affine_task(count)));
  const std::vector<CompiledCandidate> candidates = {packing_candidate("pack_nothing", "add"),
                                                     packing_candidate("pack", "add"),
                                                     candidate_of(zoo<count>(), "slow")};
  RankingPolicy policy;
  policy.budget_ns = 1'000'000;
  policy.min_rounds = 2;
  const RankingResult ranking = measurer.final_ranking(candidates, policy);
  CHECK(ranking.winner == 1);
  CHECK(ranking.results[0].status == MeasureStatus::nan_result);
  CHECK(ranking.results[2].is_ok());
}
