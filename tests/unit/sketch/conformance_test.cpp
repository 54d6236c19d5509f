// SPDX-License-Identifier: Apache-2.0
// requires: json
// Ansor reference, ch. 11.3: numbers and shapes of sketches, on a CPU with four cores and on CUDA.
// Workloads that the golden data hold are in tests/golden/sketch_cpu_test.cpp and
// sketch_cuda_test.cpp.
#include "support/catch.hpp"
#include "support/golden_tasks.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/step_json.hpp"
#include "tensorsmith/sketch/cpu_rules.hpp"
#include "tensorsmith/sketch/custom_rule.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"
#include "unit/sketch/sketch_fixtures.hpp"
#include "unit/te/conv_block.hpp"

namespace tensorsmith {
namespace {

using Dag = Shared<const ComputeDag>;

std::vector<State> on_cpu(Dag dag) {
  SketchOptions options;
  options.hardware.num_cores = 4;
  return generate_sketches(std::move(dag), ansor_cpu_rules(), options);
}

SketchOptions cuda_options() {
  return gpu_sketch_options({-1, 16, 64, 49152, 2147483647, 1024, 8, 32});
}

std::vector<State> on_cuda(Dag dag) {
  return generate_sketches(std::move(dag), ansor_gpu_rules(), cuda_options());
}

Dag chained_matmul_dag(std::int64_t n) {
  te::Program p;
  auto a = p.placeholder("A", {n, n}), b = p.placeholder("B", {n, n}),
       c = p.placeholder("C", {n, n});
  auto k = p.reduce_axis("k", n), l = p.reduce_axis("l", n);
  auto d = p.compute("D", {n, n}, [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); });
  auto e = p.compute("E", {n, n}, [&](auto i, auto j) { return te::sum(d(i, l) * c(l, j), {l}); });
  return p.dag({a, b, c, e});
}

Dag max_pool_dag(std::int64_t pad) {
  te::Program p;
  auto x = p.placeholder("X", {1, 56, 56, 512});
  const std::int64_t size = 56 + 2 * pad, out = size - 1;
  auto padded = x;
  if (pad > 0) {
    padded = p.compute("Pad", {1, size, size, 512}, [&](auto n, auto h, auto w, auto c) {
      return te::if_then_else(h >= 1 && h < 57 && w >= 1 && w < 57, x(n, h - 1, w - 1, c), -1);
    });
  }
  auto ry = p.reduce_axis("ry", 2), rx = p.reduce_axis("rx", 2);
  auto y = p.compute("Y", {1, out, out, 512}, [&](auto n, auto h, auto w, auto c) {
    return te::max(padded(n, h + ry, w + rx, c), {ry, rx});
  });
  return p.dag({x, y});
}

Dag min_dag() {
  te::Program p;
  auto a = p.placeholder("A", {10, 1024});
  auto k = p.reduce_axis("k", 1024);
  auto b = p.compute("B", {10}, [&](auto i) { return te::min(a(i, k), {k}); });
  return p.dag({a, b});
}

/// Over the last axis.
Dag softmax_dag(std::vector<std::int64_t> rows, std::int64_t columns) {
  using Indices = std::vector<te::Expr>;
  te::Program p;
  std::vector<std::int64_t> shape = rows;
  shape.push_back(columns);
  auto a = p.placeholder("A", shape);
  auto k1 = p.reduce_axis("k1", columns), k2 = p.reduce_axis("k2", columns);
  const auto with = [](Indices indices, te::Expr last) {
    indices.push_back(last);
    return indices;
  };
  const auto without_last = [](Indices indices) {
    indices.pop_back();
    return indices;
  };
  auto high =
      p.compute("T_max", rows, [&](const Indices& i) { return te::max(a.at(with(i, k1)), {k1}); });
  auto power = p.compute("T_exp", shape, [&](const Indices& i) {
    return te::exp(a.at(i) - high.at(without_last(i)));
  });
  auto sum = p.compute("T_sum", rows,
                       [&](const Indices& i) { return te::sum(power.at(with(i, k2)), {k2}); });
  auto out = p.compute("T_norm", shape,
                       [&](const Indices& i) { return power.at(i) / sum.at(without_last(i)); });
  return p.dag({a, out});
}

Dag norm_dag(std::int64_t batch) {
  te::Program p;
  auto a = p.placeholder("A", {batch, 256, 256});
  auto i = p.reduce_axis("i", 256), j = p.reduce_axis("j", 256);
  auto c = p.compute("C", {batch}, [&](auto b) {
    return te::sum(a(b, i, j) * a(b, i, j), {i, j});
  });
  auto d = p.compute("D", {batch}, [&](auto b) { return te::sqrt(c(b)); });
  return p.dag({a, d});
}

Dag rank0_sum_dag() {
  te::Program p;
  auto a = p.placeholder("A", {128});
  auto k = p.reduce_axis("k", 128);
  auto b = p.compute("B", {}, [&](const std::vector<te::Expr>&) { return te::sum(a(k), {k}); });
  return p.dag({a, b});
}

std::vector<std::size_t> inlined_stages(const State& state) {
  std::vector<std::size_t> ids;
  for (std::size_t id = 0; id < state.num_stages(); ++id) {
    if (state.stage(id).compute_at == ComputeAt::inlined) {
      ids.push_back(id);
    }
  }
  return ids;
}

}  // namespace

TEST_CASE("conformance 11.3: matmul 512, 8x8x512 and 8x8x1024") {
  CHECK(on_cpu(test::matmul_dag(512, 512, 512)).size() == 3);
  CHECK(on_cuda(test::matmul_dag(512, 512, 512)).size() == 1);
  CHECK(on_cpu(test::matmul_dag(8, 8, 512)).size() == 5);
  CHECK(on_cuda(test::matmul_dag(8, 8, 512)).size() == 2);
  CHECK(on_cpu(test::matmul_dag(8, 8, 1024)).size() == 5);
  CHECK(on_cuda(test::matmul_dag(8, 8, 1024)).size() == 2);
}

TEST_CASE("conformance 11.3: the CPU sketches of matmul stand in order") {
  const auto tags = [](const State& sketch) {
    std::string text;
    for (const Step& step : sketch.steps()) {
      text += (text.empty() ? "" : " ") + std::string(tag_of(step));
    }
    return text;
  };
  const std::string fused = "CHW SP SP SP RE FSP FSP RE CA";
  const auto cpu = on_cpu(test::matmul_dag(512, 512, 512));
  REQUIRE(cpu.size() == 3);
  CHECK(tags(cpu[0]) == "SP SP SP RE");
  CHECK(tags(cpu[1]) == fused);
  CHECK(tags(cpu[2]) == fused);
  CHECK(cpu[1].attach_map().stage_to_iterator.at(2) == IteratorKey{3, 1});
  CHECK(cpu[2].attach_map().stage_to_iterator.at(2) == IteratorKey{3, 3});
  const auto small = on_cpu(test::matmul_dag(8, 8, 512));
  REQUIRE(small.size() == 5);
  CHECK(tags(small[0]) == "SP RF");
  CHECK(tags(small[1]) == "SP RF RE");
  CHECK(tags(small[2]) == "SP SP SP RE");
  CHECK(tags(small[3]) == fused);
  CHECK(tags(small[4]) == fused);
}

TEST_CASE("conformance 11.3: two chained matmuls") {
  CHECK(on_cpu(chained_matmul_dag(512)).size() == 9);
  CHECK(on_cuda(chained_matmul_dag(512)).size() == 1);
}

TEST_CASE("conformance 11.3: convolution with bias, batch norm and relu") {
  const auto cpu = on_cpu(test::conv_block(56, 512, 512, 3, 1, 1));
  REQUIRE(cpu.size() == 3);
  CHECK(cpu[0].steps().size() == 17);  // fused at level 1
  CHECK(cpu[1].steps().size() == 17);  // at level 2
  CHECK(cpu[2].steps().size() == 11);  // not fused
  for (const State& sketch : cpu) {
    CHECK(inlined_stages(sketch) == std::vector<std::size_t>{5, 7, 9});
    CHECK(sketch.stage(1).compute_at == ComputeAt::root);  // the padding
  }
  // The last of the four loops of a level: n, c, h, w.
  CHECK(cpu[0].attach_map().stage_to_iterator.at(3) == IteratorKey{10, 3});
  CHECK(cpu[1].attach_map().stage_to_iterator.at(3) == IteratorKey{10, 7});
  CHECK(cpu[2].attach_map().stage_to_iterator.empty());
  const auto cuda = on_cuda(test::conv_block(56, 512, 512, 3, 1, 1));
  REQUIRE(cuda.size() == 1);
  CHECK(cuda[0].steps().size() == 22);
  // The padding too; behind it stand two more stages.
  CHECK(inlined_stages(cuda[0]) == std::vector<std::size_t>{1, 7, 9, 11});
  CHECK(cuda[0].operation(1).name == "pad_temp");
  CHECK(cuda[0].operation(2).name == "pad_temp.shared");
  CHECK(cuda[0].operation(4).name == "Kernel.shared");
  CHECK(cuda[0].operation(5).name == "conv");
  // Three levels of n, c, h, w, then rc.0, ry.0, rx.0.
  const auto& attached = cuda[0].attach_map().stage_to_iterator;
  CHECK(attached.at(2) == IteratorKey{5, 14});
  CHECK(attached.at(4) == IteratorKey{5, 14});
  REQUIRE(cuda[0].stage(5).iterators.size() == 29);
  CHECK(cuda[0].stage(5).iterators[14].name == "rx.0");
  CHECK(cuda[0].stage(5).iterators[15].name == "rc.1");
}

TEST_CASE("conformance 11.3: max-pool has one sketch; with padding the GPU inlines it") {
  const auto cpu = on_cpu(max_pool_dag(1));
  REQUIRE(cpu.size() == 1);
  CHECK(cpu[0].steps().empty());
  const auto cuda = on_cuda(max_pool_dag(0));
  REQUIRE(cuda.size() == 1);
  CHECK(cuda[0].steps().empty());
  const auto padded = on_cuda(max_pool_dag(1));
  REQUIRE(padded.size() == 1);
  REQUIRE(padded[0].steps().size() == 1);
  CHECK(padded[0].steps()[0] == Step{ComputeInlineStep{1}});
}

TEST_CASE("conformance 11.3: minimum of rows") {
  CHECK(on_cpu(min_dag()).size() == 3);
  CHECK(on_cuda(min_dag()).size() == 2);
}

TEST_CASE("conformance 11.3: softmax") {
  CHECK(on_cpu(softmax_dag({1}, 1024)).size() == 9);
  CHECK(on_cuda(softmax_dag({1}, 1024)).size() == 4);
  CHECK(on_cpu(softmax_dag({2}, 1024)).size() == 9);
  CHECK(on_cuda(softmax_dag({2}, 1024)).size() == 4);
  CHECK(on_cpu(softmax_dag({1, 12, 128}, 128)).size() == 9);
  CHECK(on_cuda(softmax_dag({1, 12, 128}, 128)).size() == 4);
}

TEST_CASE("conformance 11.3: softmax, which sketch factors what") {
  // Sketch 3 i + j: j of 0 or 1 factors the outer or the inner part of the maximum (stage 1), i
  // that of the sum (stage 3), which comes first.
  const auto cpu = on_cpu(softmax_dag({2}, 1024));
  REQUIRE(cpu.size() == 9);
  for (std::int32_t at = 0; at < 9; ++at) {
    std::vector<RfactorStep> expected, found;
    for (const auto& [stage, part] : {std::pair{3, at / 3}, std::pair{1, at % 3}}) {
      if (part < 2) {
        expected.push_back(RfactorStep{stage, 1 + part, 1});
      }
    }
    for (const Step& step : cpu[static_cast<std::size_t>(at)].steps()) {
      if (const auto* rfactor = std::get_if<RfactorStep>(&step)) {
        found.push_back(*rfactor);
      }
    }
    INFO("sketch " << at);
    CHECK(found == expected);
  }
  CHECK(cpu[8].steps().empty());
  CHECK(cpu[8].operation(1).name == "T_max");
  CHECK(cpu[8].operation(3).name == "T_sum");
}

TEST_CASE(
    "conformance 11.3: CUDA softmax 0 computes both reductions in the threads of the result") {
  const auto cuda = on_cuda(softmax_dag({1}, 1024));
  REQUIRE(cuda.size() == 4);
  const auto& attached = cuda[0].attach_map().stage_to_iterator;
  CHECK(attached.at(1) == IteratorKey{4, 0});
  CHECK(attached.at(3) == IteratorKey{4, 0});
  for (const std::size_t stage : {1U, 3U, 4U}) {
    const auto& last = cuda[0].stage(stage).iterators.back();
    CHECK(last.annotation == Annotation::thread_x);
    CHECK(last.kind == (stage == 4 ? IteratorKind::spatial : IteratorKind::reduction));
  }
  CHECK(cuda[0].stage(4).iterators.back().extent == 32);
}

TEST_CASE("conformance 11.3: norms and a sum to one element") {
  CHECK(on_cpu(norm_dag(1)).size() == 3);
  CHECK(on_cuda(norm_dag(1)).size() == 2);
  CHECK(on_cpu(norm_dag(64)).size() == 3);
  CHECK(on_cuda(norm_dag(64)).size() == 2);
  CHECK(on_cpu(rank0_sum_dag()).size() == 3);
  CHECK(on_cuda(rank0_sum_dag()).size() == 2);
}

TEST_CASE("conformance 11.3: the thirteen steps of CUDA matmul 512") {
  const auto cuda = on_cuda(test::matmul_dag(512, 512, 512));
  REQUIRE(cuda.size() == 1);
  const std::vector<Step>& steps = cuda[0].steps();
  REQUIRE(steps.size() == 13);
  CHECK(steps[0] == Step{CacheWriteStep{2, "local"}});
  const LengthList two{unknown_length, unknown_length};
  const LengthList four{unknown_length, unknown_length, unknown_length, unknown_length};
  CHECK(steps[1] == Step{SplitStep{2, 0, 512, four, true}});
  CHECK(steps[2] == Step{SplitStep{2, 5, 512, four, true}});
  CHECK(steps[3] == Step{SplitStep{2, 10, 512, two, true}});
  CHECK(steps[4] == Step{ReorderStep{2, {0, 5, 1, 6, 2, 7, 10, 11, 3, 8, 12, 4, 9}}});
  CHECK(steps[5] == Step{FollowSplitStep{3, 0, 1, 3}});
  CHECK(steps[6] == Step{FollowSplitStep{3, 4, 2, 3}});
  CHECK(steps[7] == Step{ReorderStep{3, {0, 4, 1, 5, 2, 6, 3, 7}}});
  CHECK(steps[8] == Step{ComputeAtStep{2, 3, 5}});
  CHECK(steps[9] == Step{CacheReadStep{1, "shared", {2}}});
  CHECK(steps[10] == Step{ComputeAtStep{2, 3, 6}});
  CHECK(steps[11] == Step{CacheReadStep{0, "shared", {3}}});
  CHECK(steps[12] == Step{ComputeAtStep{1, 4, 6}});
}

TEST_CASE("conformance 11.3: the text of the CUDA sketch of matmul 512") {
  const auto cuda = on_cuda(test::matmul_dag(512, 512, 512));
  REQUIRE(cuda.size() == 1);
  std::string expected = "Placeholder: A, B\n";
  std::size_t depth = 0;
  const auto line = [&](const std::string& text) {
    expected += std::string(2 * depth, ' ') + text + "\n";
  };
  const auto loops = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      line("for " + name + " (None)");
      ++depth;
    }
  };
  const auto computes = [&](const std::string& name, std::size_t depth_after) {
    line(name + " = ...");
    depth = depth_after;
  };
  loops({"i.0", "j.0", "i.1", "j.1", "i.2", "j.2"});
  loops({"i_c.0", "j_c.0", "i_c.1", "j_c.1", "i_c.2", "j_c.2", "k.0"});
  loops({"ax0", "ax1"});
  computes("B.shared", 13);  // under k.0
  loops({"ax0", "ax1"});
  computes("A.shared", 13);
  loops({"k.1", "i_c.3", "j_c.3", "k.2", "i_c.4", "j_c.4"});
  computes("C.local", 6);  // under j.2
  loops({"i.3", "j.3"});
  computes("C", 0);
  CHECK(state_text(cuda[0]) == expected);
}

TEST_CASE("conformance 11.3: a user's rule stands before the others, on CPUs and on GPUs") {
  const CustomRule twice(
      "twice",
      [](const RuleInput& input) {
        return input.stage == 2 ? Applicability::apply_and_skip_rest : Applicability::skip;
      },
      [](const RuleInput& input) {
        return std::vector<Derivation>{{input.state, -1}, {input.state, -1}};
      });
  SketchOptions cpu;
  cpu.hardware.num_cores = 4;
  const auto dag = test::matmul_dag(512, 512, 512);
  CHECK(generate_sketches(dag, ansor_cpu_rules().preceded_by(twice), cpu).size() == 2);
  CHECK(generate_sketches(dag, ansor_gpu_rules().preceded_by(twice), cuda_options()).size() == 2);
}

TEST_CASE("a user's rule that only adds leaves the GPU's own sketch in place") {
  const CustomRule also(
      "also",
      [](const RuleInput& input) {
        return input.stage == 2 && input.state.steps().empty() ? Applicability::apply
                                                               : Applicability::skip;
      },
      [](const RuleInput& input) {
        State state = input.state;
        grow(state, AnnotationStep{2, 0, Annotation::block_x});
        return std::vector<Derivation>{{std::move(state), -1}};
      });
  const auto sketches = generate_sketches(test::matmul_dag(512, 512, 512),
                                          ansor_gpu_rules().preceded_by(also), cuda_options());
  REQUIRE(sketches.size() == 2);
  CHECK(sketches[0].steps().size() == 1);
  CHECK(sketches[1].steps().size() == 13);
}

TEST_CASE("conformance 11.3: Winograd", "[golden]") {
  const auto& dag = test::own_golden_task("winograd_nhwc_1x28x28x128_128").dag;
  CHECK(on_cpu(dag).size() == 3);
  const auto cuda = on_cuda(dag);
  REQUIRE(cuda.size() == 1);
  const State& sketch = cuda[0];
  REQUIRE(sketch.num_stages() == 13);
  CHECK(sketch.stage(1).compute_at == ComputeAt::inlined);
  CHECK(sketch.stage(2).compute_at == ComputeAt::iterator);
  CHECK(sketch.stage(3).compute_at == ComputeAt::inlined);
  CHECK(sketch.stage(9).compute_at == ComputeAt::root);
  const auto is_tiled = [&](std::size_t s) {
    const Operation& op = sketch.operation(s);
    return sketch.stage(s).iterators.size() != op.axes.size() + op.reduce_axes.size();
  };
  CHECK(is_tiled(4));
  CHECK(is_tiled(9));
  CHECK(is_tiled(11));
  CHECK_FALSE(is_tiled(12));
}

TEST_CASE("the GPU rules stand in the reference's order") {
  const std::vector<std::string> expected = {"add_cache_read",
                                             "special_compute_location",
                                             "always_inline",
                                             "simplify_compute_with_const_tensor",
                                             "cross_thread_reduction",
                                             "add_cache_write",
                                             "multi_level_tiling_with_fusion",
                                             "multi_level_tiling",
                                             "skip_stage"};
  CHECK(ansor_gpu_rules().names() == expected);
}

}  // namespace tensorsmith
