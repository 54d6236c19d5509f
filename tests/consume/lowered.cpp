// SPDX-License-Identifier: Apache-2.0
// A program of somebody else without a tuner: schedules by hand, runs the loops by the interpreter
// and writes them as C++ to the file that is named. For core, and for what was compiled once.
#include <cstdio>
#include <fstream>
#include <vector>

#include "tensorsmith/codegen/cpp_source.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/te/program.hpp"

namespace ts = tensorsmith;

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  ts::te::Program p;
  auto a = p.placeholder("A", {6, 8}), b = p.placeholder("B", {8, 20});
  auto k = p.reduce_axis("k", 8);
  auto c =
      p.compute("C", {6, 20}, [&](auto i, auto j) { return ts::te::sum(a(i, k) * b(k, j), {k}); });
  const auto state =
      ts::apply_step(ts::State::initial(p.dag({a, b, c})), ts::SplitStep{2, 0, 6, {3}});
  if (!state) {
    return 1;
  }
  const ts::Target target = ts::Target::x86_64_v3();
  const auto loops = ts::lower(*state, target);
  if (!loops) {
    std::puts(ts::explain(loops.error()).c_str());
    return 1;
  }
  std::vector<ts::HostArray> arrays = {ts::HostArray(ts::DType::f32, {6, 8}),
                                       ts::HostArray(ts::DType::f32, {8, 20}),
                                       ts::HostArray(ts::DType::f32, {6, 20})};
  for (std::int64_t i = 0; i < arrays[0].num_elements(); ++i) {
    arrays[0].set_real(i, 2);
  }
  for (std::int64_t i = 0; i < arrays[1].num_elements(); ++i) {
    arrays[1].set_real(i, 3);
  }
  bool is_right = ts::eval(*loops, arrays).has_value();
  for (std::int64_t i = 0; is_right && i < arrays[2].num_elements(); ++i) {
    is_right = arrays[2].get_real(i) == 48;
  }
  ts::CppSourceOptions options = ts::cpp_source_options(target, 1);
  options.function_name = "my_gemm";
  std::ofstream(argv[1]) << ts::emit_cpp_source(*loops, options).source;
  std::puts(is_right ? "right" : "wrong");
  return is_right ? 0 : 1;
}
