// SPDX-License-Identifier: Apache-2.0
// CUDA text of GPU programs as the search draws them, executed on the shim, against the workload.
// How many were compared is printed.
#include <cstdio>
#include <set>
#include <string>

#include "backend/cuda_shim_fixture.hpp"
#include "backend/lane_sums.hpp"
#include "support/dag_results.hpp"
#include "support/native_gpu_space.hpp"
#include "support/random_dags.hpp"
#include "support/row_workloads.hpp"
#include "support/small_workloads.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"
#include "tensorsmith/te/dag_text.hpp"
#include "tensorsmith/te/eval_dag.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// Complete programs, a few mutations on.
template <class Population, class Mutators>
std::vector<State> draw_states(const SearchSpace& space, const Population& population,
                               const Mutators& mutators, std::size_t count) {
  std::vector<State> states;
  for (std::uint32_t i = 0; states.size() < count && i < 60 * count; ++i) {
    CounterRng rng(seed(), 11, i);
    std::optional<Candidate> candidate = draw_candidate(space, population, rng);
    for (std::uint32_t n = rng.next_below(4); candidate && n > 0; --n) {
      if (auto mutant = mutators.mutate(space, *candidate, rng)) {
        candidate = std::move(mutant);
      }
    }
    if (candidate) {
      states.push_back(std::move(candidate->state));
    }
  }
  return states;
}

/// Complete programs of the reference's GPU space, for blocks of at most 64 threads and warps of 4,
/// so that small workloads have blocks, virtual threads and shared reductions.
std::vector<State> drawn_states(const Shared<const ComputeDag>& dag, std::size_t count) {
  const HardwareParams hardware{-1, 16, 64, 49152, 2147483647, 64, 4, 4};
  const SearchSpace space(generate_sketches(dag, ansor_gpu_rules(), gpu_sketch_options(hardware)),
                          gpu_space_options(hardware));
  return draw_states(space, AnsorGpuPopulation{}, GpuTileMutators<NativeDrawing>{}, count);
}

struct Drawn {
  std::string what;
  CudaSource source;
  std::vector<HostArray> arguments;  ///< outputs without values
  std::vector<HostArray> expected;   ///< the outputs, by argument
  std::vector<bool> is_output;
};

void add_states(const Shared<const ComputeDag>& dag, const std::string& name,
                const std::vector<State>& states, std::vector<Drawn>& all,
                std::int32_t capability = 80) {
  const Target target = Target::cuda(capability).value();
  const std::vector<HostArray> inputs = whole_number_inputs(*dag);
  const auto results = eval_dag(*dag, inputs);
  REQUIRE(results.has_value());
  for (const State& state : states) {
    const auto program = lower(state, target);
    INFO(name << "\n" << state_text(state));
    REQUIRE(program.has_value());
    CudaSourceOptions options;
    options.name = "kernel_" + std::to_string(all.size());
    auto source = cuda_source(*program, target, options);
    INFO((source ? "" : source.error()) << to_text(*program));
    REQUIRE(source.has_value());
    Drawn drawn{name + "\n" + state_text(state), std::move(*source), {}, {}, {}};
    std::size_t next_input = 0, next_output = 0;
    for (TensorId id : dag->arguments()) {
      const TensorInfo& info = dag->tensor(id);
      const bool is_input = dag->operation(info.operation).is_placeholder();
      const HostArray empty(info.dtype, {info.shape.begin(), info.shape.end()});
      drawn.arguments.push_back(is_input ? inputs[next_input++] : empty);
      drawn.expected.push_back(is_input ? empty : (*results)[next_output++]);
      drawn.is_output.push_back(!is_input);
    }
    all.push_back(std::move(drawn));
  }
}

void add_drawn(const Shared<const ComputeDag>& dag, const std::string& name, std::size_t count,
               std::vector<Drawn>& all) {
  const auto states = drawn_states(dag, count);
  CHECK(states.size() == count);
  add_states(dag, name, states, all);
}

/// Of this process: programs compared, and which of them are different.
void count_compared(const std::vector<Drawn>& all) {
  static std::size_t count = 0;
  static std::set<std::string> different;
  count += all.size();
  for (const Drawn& drawn : all) {
    different.insert(drawn.what);
  }
  std::printf("cuda shim: %zu programs compared, %zu so far, %zu of them different\n", all.size(),
              count, different.size());
  std::fflush(stdout);
}

void check_drawn(const std::vector<Drawn>& all, double bound) {
  constexpr std::size_t per_library = 64;  // a translation unit of reasonable size
  for (std::size_t first = 0; first < all.size(); first += per_library) {
    const std::size_t count = std::min(per_library, all.size() - first);
    std::vector<CudaSource> sources;
    for (std::size_t i = 0; i < count; ++i) {
      sources.push_back(all[first + i].source);
    }
    const ShimLibrary library(sources);
    for (std::size_t i = 0; i < count; ++i) {
      const Drawn& drawn = all[first + i];
      INFO(drawn.what << drawn.source.text);
      for (const unsigned order : {0u, 1u, 5u}) {
        std::vector<HostArray> actual = drawn.arguments;
        REQUIRE(library.run(i, actual, order) == "");
        for (std::size_t a = 0; a < actual.size(); ++a) {
          if (drawn.is_output[a]) {
            REQUIRE(worst_difference(actual[a], drawn.expected[a]) <= bound);
          }
        }
      }
    }
  }
  count_compared(all);
}

/// TENSORSMITH_GPU_PROGRAMS=25 checks that many of each workload and type: 1,000 and more in all.
std::size_t per_workload() {
  const char* const wanted = std::getenv("TENSORSMITH_GPU_PROGRAMS");
  return wanted != nullptr ? std::stoul(wanted) : 2;
}

}  // namespace

TEST_CASE("CUDA text of random programs", "[cuda_source]") {
  CounterRng rng(seed(), 12);
  std::vector<Drawn> all;
  for (std::uint32_t n = 0; n < 32; ++n) {
    const auto dag = RandomDag(rng).make();
    add_states(dag, te::dag_text(*dag), drawn_states(dag, 2), all);
  }
  CHECK(all.size() > 32);
  check_drawn(all, 0);
}

TEST_CASE("CUDA text of drawn programs on integers is exact", "[cuda_source]") {
  std::vector<Drawn> all;
  for (const SmallWorkload& workload : small_workloads(DType::i32)) {
    add_drawn(workload.dag, workload.name, per_workload(), all);
  }
  CHECK(all.size() >= 16);
  check_drawn(all, 0.0);
}

TEST_CASE("CUDA text of drawn programs with tensor cores is exact", "[cuda_source]") {
  std::vector<Drawn> all;
  for (const auto& [name, dag] : tensor_core_workloads()) {
    const SearchSpace space = native_gpu_space(dag, Target::cuda(80).value(), 256);
    const auto states =
        draw_states(space, NativeGpuPopulation{}, NativeGpuMutators{}, per_workload());
    CHECK(states.size() == per_workload());
    add_states(dag, name, states, all);
  }
  for (const Drawn& drawn : all) {
    INFO(drawn.what << drawn.source.text);
    CHECK(drawn.source.text.find("_words") != std::string::npos);  // the instruction's fragments
  }
  CHECK(any_item(all, [](const Drawn& drawn) {
    return drawn.source.text.find("_words[2][") != std::string::npos;  // loaded ahead
  }));
  check_drawn(all, 0.0);
}

TEST_CASE("CUDA text with tensor cores on sizes that no tile divides is exact", "[cuda_source]") {
  std::vector<Drawn> all;
  for (const auto& [name, dag] : odd_tensor_core_workloads()) {
    const SearchSpace space = native_gpu_space(dag, Target::cuda(80).value(), 256);
    const auto states =
        draw_states(space, NativeGpuPopulation{}, NativeGpuMutators{}, per_workload() + 1);
    CHECK(states.size() == per_workload() + 1);
    add_states(dag, name, states, all);
  }
  for (const Drawn& drawn : all) {
    INFO(drawn.what << drawn.source.text);
    CHECK(drawn.source.text.find("_words") != std::string::npos);
  }
  CHECK(any_item(all, [](const Drawn& drawn) {
    return drawn.source.text.find("copy_async_or_zero(reinterpret_cast") != std::string::npos;
  }));
  check_drawn(all, 0.0);
}

TEST_CASE("CUDA text of products that four warps compute together is exact", "[cuda_source]") {
  const Target target = Target::cuda(90).value();
  const auto is_for_warpgroups = [](const SearchSpace&, const Candidate& candidate) {
    return any_item(candidate.state.steps(), [](const Step& step) {
      return has_hint<hints::Tensorize>(step) &&
             std::get<PragmaStep>(step).hint.as<hints::Tensorize>()->intrinsic.starts_with("wgmma");
    });
  };
  std::vector<Drawn> all;
  for (const auto& [name, dag] : warpgroup_workloads()) {
    const SearchSpace space = native_gpu_space(dag, target, 512);
    std::vector<State> states;
    std::uint32_t draws = 0;
    const std::size_t count = name == wide_warpgroup_workload ? 12 : per_workload();
    while (states.size() < count) {
      auto state = draw_wanted(space, 400, draws, is_for_warpgroups);
      INFO(name);
      REQUIRE(state);
      states.push_back(std::move(*state));
    }
    add_states(dag, name, states, all, 90);
  }
  for (const Drawn& drawn : all) {
    INFO(drawn.what << drawn.source.text);
    CHECK(drawn.source.text.find("shared_matrix<") != std::string::npos);  // never as the loops
    CHECK(drawn.source.text.find("swizzled<8>(") != std::string::npos);
  }
  CHECK(any_item(all, [&](const Drawn& drawn) {
    return drawn.source.text.find("16<128, ") != std::string::npos;  // two tiles by one
  }));
  check_drawn(all, 0.0);
}

TEST_CASE("CUDA text of the native space: copies ahead, layouts, sums in parts", "[cuda_source]") {
  std::vector<Drawn> all;
  const auto add = [&](const Shared<const ComputeDag>& dag, const std::string& name) {
    const SearchSpace space = native_gpu_space(dag, Target::cuda(80).value(), 64, 4);
    const auto states =
        draw_states(space, NativeGpuPopulation{}, NativeGpuMutators{}, per_workload());
    CHECK(states.size() == per_workload());
    add_states(dag, name, states, all);
  };
  for (const SmallWorkload& workload : small_workloads(DType::i32)) {
    add(workload.dag, workload.name);
  }
  for (const char* workload : long_sums) {
    add(ops::parse_workload(workload)->dag, workload);
  }
  const auto is_somewhere = [&](const char* wanted) {
    return any_item(all, [&](const Drawn& drawn) {
      return drawn.source.text.find(wanted) != std::string::npos;
    });
  };
  CHECK(is_somewhere("copy_async("));
  CHECK(is_somewhere("copy_async_or_zero("));  // of an input with padding
  check_drawn(all, 0.0);
}

TEST_CASE("CUDA text of rows: several of a block, vectors of their threads", "[cuda_source]") {
  std::vector<Drawn> all;
  for (const auto& [name, dag] : row_workloads()) {
    const SearchSpace space = native_gpu_space(dag, Target::cuda(80).value(), 64, 4);
    const auto states =
        draw_states(space, NativeGpuPopulation{}, NativeGpuMutators{}, 2 * per_workload());
    CHECK(states.size() == 2 * per_workload());
    add_states(dag, name, states, all);
  }
  for (const char* wanted : {"threadIdx.y", "_lanes[", "const int4 "}) {
    INFO(wanted);
    CHECK(any_item(all, [&](const Drawn& drawn) {
      return drawn.source.text.find(wanted) != std::string::npos;
    }));
  }
  check_drawn(all, 0.0);
}

TEST_CASE("CUDA text of blocks that share sums out is exact", "[cuda_source]") {
  std::vector<Drawn> all;
  const auto add = [&](const char* workload, std::int32_t max_threads, std::int32_t warp_size) {
    const auto dag = ops::parse_workload(workload)->dag;
    const SearchSpace space = native_gpu_space(dag, small_board(), max_threads, warp_size);
    std::uint32_t draws = 0;
    std::vector<State> states;
    while (states.size() < per_workload()) {
      auto state = draw_stream_k(space, 400, draws);
      REQUIRE(state.has_value());
      if (shares_sums(lower(*state, small_board()).value())) {
        states.push_back(std::move(*state));
      }
    }
    add_states(dag, workload, states, all);
  };
  for (const char* workload : odd_tiles) {
    add(workload, 64, 4);
  }
  for (const char* workload : {"gemm:96x80x64:f16", "gemm:80x80x96:i8,tb"}) {
    add(workload, 128, 32);
  }
  for (const Drawn& drawn : all) {
    CHECK(drawn.source.launches.size() >= 2);
  }
  check_drawn(all, 0.0);
}

TEST_CASE("CUDA text of groups of blocks is exact", "[cuda_source]") {
  std::vector<Drawn> all;
  for (const char* workload : many_tiles) {
    const auto dag = ops::parse_workload(workload)->dag;
    const SearchSpace space = native_gpu_space(dag, small_board(), 64, 4);
    std::uint32_t draws = 0;
    std::vector<State> states;
    while (states.size() < per_workload()) {
      auto state = draw_grouped(space, 2000, draws);
      REQUIRE(state.has_value());
      states.push_back(std::move(*state));
    }
    add_states(dag, workload, states, all);
  }
  check_drawn(all, 0.0);
}

TEST_CASE("CUDA text of drawn programs, every float type and operator", "[cuda_source]") {
  std::vector<Drawn> exact, wide, narrow;
  for (const char* workload :
       {"conv2d:n=1,h=7,w=9,ci=5,co=6,k=3,s=1,p=1,bias,relu",
        "depthwise:n=1,h=9,w=8,c=6,k=3,s=2,p=1",
        "conv2d_transpose:n=1,h=4,w=3,ci=6,co=4,k=4,s=2,p=1",
        "max_pool:n=1,c=3,h=9,w=9,k=3,s=2,p=1", "avg_pool:n=1,c=4,h=8,w=6,k=2,s=2",
        "reduce_sum:12x40", "reduce_max:7x33", "argmax:7x33", "gemm:12x20x28:i8",
        "gemm:12x20x28:f64", "bmm:3x8x12x10:f32,tb"}) {
    add_drawn(ops::parse_workload(workload)->dag, workload, per_workload(), exact);
  }
  check_drawn(exact, 1e-6);
  for (const char* workload : {"softmax:6x20", "log_softmax:6x20", "softmax:6x20,online=8",
                               "layernorm:5x24", "rmsnorm:5x24", "gemm:12x20x28:f32,bias,gelu"}) {
    add_drawn(ops::parse_workload(workload)->dag, workload, per_workload(), wide);
  }
  check_drawn(wide, 1e-4);
  for (const char* workload : {"gemm:12x20x28:f16", "gemm:13x8x9:bf16,bias,relu"}) {
    add_drawn(ops::parse_workload(workload)->dag, workload, per_workload(), narrow);
  }
  check_drawn(narrow, 2e-2);
}

TEST_CASE("CUDA text of reductions from lane to lane, every type", "[cuda_source]") {
  std::vector<Drawn> all;
  for (const LaneSum& sum : lane_sums()) {
    add_states(sum.dag, sum.name, {sum.state}, all);
  }
  for (const Drawn& drawn : all) {
    INFO(drawn.what << drawn.source.text);
    CHECK(drawn.source.text.find("__shfl_xor_sync(") != std::string::npos);
    const CudaLaunch& first = drawn.source.launches[0];
    const bool names_lanes = drawn.source.text.find("present_lanes(") != std::string::npos;
    CHECK(names_lanes == (first.num_threads() % 32 != 0));
    CHECK((first.shared_bytes() > 0) == (first.block[0] > 32));
  }
  check_drawn(all, 2e-2);  // sums of bf16 are rounded in another order
}
