// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/psa_fixed.hpp"

#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/ops/gemm.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {
namespace {

/// A product's kernel of 256 threads.
PsaKernel whole_kernel() {
  PsaKernel kernel;
  kernel.is_gpu = 1;
  kernel.num_blocks = 432;
  kernel.num_threads = 256;
  kernel.ops = 2e9;
  kernel.results = 16;
  kernel.register_words = 24;
  kernel.loads = 500;
  kernel.shared_bytes = 8192;
  kernel.passes = 1e6;
  kernel.global_bytes = 6e7;
  kernel.unique_bytes = 1.2e7;
  kernel.waits = 64;
  return kernel;
}

double clocks_of(const PsaKernel& kernel) {
  return psa_kernel_clocks(kernel, *psa_fixed_device(*Target::from_name("a100")), 0);
}

/// Of one store whose lanes are a warp's: `index` is the place that thread x of 64 reads.
detail::PsaAccess read_by(std::int64_t stride) {
  StoreProgram program;
  FeatureLoop block{4, Annotation::block_x, algebra::no_ref, {}};
  FeatureLoop thread{64, Annotation::thread_x, algebra::no_ref, {}};
  block.vars.push_back(program.pool.new_var());
  thread.vars.push_back(program.pool.new_var());
  const algebra::Ref x = program.pool.var(thread.vars[0]);
  const algebra::Ref place = program.pool.mul(x, program.pool.integer(stride));
  program.loops = {block, thread};
  program.buffers = {{DType::f32, {1 << 20}}, {DType::f32, {1 << 20}}};
  FeatureStore store;
  store.tensor = TensorId{0};
  store.loops = {{0, 0}, {1, 1}};
  store.accesses = {{TensorId{0}, AccessKind::write, 1, {x}, {}},
                    {TensorId{1}, AccessKind::read, 1, {place}, {}}};
  algebra::Remembered<algebra::Bound> known;
  detail::PsaAccesses accesses(program, store, known);
  return accesses.of(store.accesses[1], 64);
}

}  // namespace

TEST_CASE("PSA fixed: lanes that lie apart ask for more sectors and collide in banks", "[cost]") {
  CHECK(read_by(1).sectors == 4);
  CHECK(read_by(1).passes == 1);
  CHECK(read_by(1).warps == 2);
  CHECK(read_by(2).sectors == 8);
  CHECK(read_by(2).passes == 2);
  CHECK(read_by(8).sectors == 32);
  CHECK(read_by(1).lines == 1);
  CHECK(read_by(8).lines == 8);
  CHECK(read_by(32).lines == 32);
  CHECK(read_by(32).sectors == 32);
  CHECK(read_by(32).passes == 32);
  CHECK(read_by(33).passes == 1);
  CHECK(read_by(0).sectors == 1);
  CHECK(read_by(0).passes == 1);
}

TEST_CASE("PSA fixed: every cost that grows makes a kernel slower", "[cost]") {
  const double known = clocks_of(whole_kernel());
  for (const std::string_view grown : {"ops", "passes", "global_bytes", "waits", "loads"}) {
    PsaKernel more = whole_kernel();
    for (std::size_t c = 0; c < psa_kernel_tags.size(); ++c) {
      if (psa_kernel_tags[c] == grown) {
        *detail::psa_kernel_fields(more)[c] *= 100;
      }
    }
    INFO(grown);
    CHECK(clocks_of(more) > known);
  }
  PsaKernel spills = whole_kernel();
  spills.register_words = 600;
  CHECK(clocks_of(spills) > 2 * known);
  PsaKernel idle = whole_kernel();  // lanes of a second warp that idle
  idle.num_threads = 33;
  idle.num_blocks = whole_kernel().num_blocks * 8;
  CHECK(clocks_of(idle) > known);
}

TEST_CASE("PSA fixed: what a board cannot hold has no time, a small one takes its launch",
          "[cost]") {
  PsaKernel large = whole_kernel();
  large.shared_bytes = 1 << 20;
  CHECK(clocks_of(large) == math::infinity);
  PsaKernel small;
  small.is_gpu = 1;
  small.num_threads = 32;
  small.ops = 32;
  const PsaFixedDevice device = *psa_fixed_device(*Target::from_name("a100"));
  CHECK(clocks_of(small) >= device.launch_clocks);
  CHECK(clocks_of(small) < 1.2 * device.launch_clocks);
  CHECK(!psa_fixed_device(*Target::from_name("sm_80")));
}

TEST_CASE("PSA fixed: programs of a CPU have times, and more cores take less", "[cost]") {
  const SearchSpace space = test::space_of(test::matmul_dag(256, 256, 256));
  Target target = Target::x86_64_v3();
  target.num_cores = 4;
  const std::vector<std::string_view> wanted{psa_kernels_block_name};
  FeatureTable table;
  REQUIRE(table.add(psa_kernels_block()));
  const auto plan = FeaturePlan::make(table, wanted, FeatureContext{target, 4, {}});
  REQUIRE(plan);
  const PsaFixedModel model(*psa_fixed_device(target));
  PsaFixedDevice one_core = model.device();
  one_core.num_units = 1;
  std::size_t num_faster = 0;
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Candidate candidate = test::sample_of(space, i + 100 * test::seed());
    const std::vector<Features> programs{plan->extract(candidate.state), Features()};
    REQUIRE(!programs[0].empty());
    std::vector<float> scores(2);
    model.predict(programs, scores);
    CHECK(scores[0] > 0);
    CHECK(scores[1] == invalid_score);
    const FeatureBlock& kernels = programs[0].block(psa_kernels_block_name);
    double ops = 0;
    for (std::uint32_t r = 0; r < kernels.num_rows; ++r) {
      const PsaKernel kernel = read_psa_kernel(kernels.row(r));
      CHECK(kernel.is_gpu == 0);
      CHECK(kernel.into_l1 >= kernel.into_l2);
      CHECK(kernel.into_l2 >= kernel.into_l3);
      CHECK(kernel.into_l1 > 0);
      ops += kernel.ops;
    }
    CHECK(ops >= 2.0 * 256 * 256 * 256);
    num_faster += psa_fixed_clocks(kernels, model.device()) < psa_fixed_clocks(kernels, one_core);
  }
  CHECK(num_faster > 0);
}

}  // namespace tensorsmith
