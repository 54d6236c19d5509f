// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/codegen/cuda_source.hpp"

#include "backend/cuda_shim_fixture.hpp"
#include "backend/gpu_programs.hpp"
#include "support/golden_text.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

const Target ampere = Target::cuda(80).value();

CudaSource source_of(const LoopProgram& program, const std::string& name) {
  CudaSourceOptions options;
  options.name = name;
  const auto source = cuda_source(program, ampere, options);
  INFO((source ? "" : source.error()));
  REQUIRE(source.has_value());
  return *source;
}

/// The text on the shim, in several orders of the threads, against the interpreter.
void check_on_shim(const std::vector<GpuCase>& cases) {
  std::vector<CudaSource> sources;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    sources.push_back(source_of(cases[i].program, "kernel_" + std::to_string(i)));
  }
  const ShimLibrary library(sources);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].name << "\n" << sources[i].text);
    const std::vector<HostArray> inputs = arrays_for(cases[i].program);
    std::vector<HostArray> expected = inputs;
    REQUIRE(eval(cases[i].plain, expected).has_value());
    for (const unsigned order : {0u, 1u, 7u}) {
      std::vector<HostArray> actual = inputs;
      REQUIRE(library.run(i, actual, order) == "");
      for (std::size_t a = 0; a < actual.size(); ++a) {
        if (cases[i].bound == 0.0) {
          CHECK(actual[a] == expected[a]);
        } else {
          CHECK(worst_difference(actual[a], expected[a]) <= cases[i].bound);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("elementwise, every type: vectors of 16 bytes, guarded tails", "[cuda_source]") {
  std::vector<GpuCase> cases;
  for (const DType type : all_dtypes) {
    if (type == DType::boolean) {
      continue;
    }
    cases.push_back(elementwise_case(type, 200, 32, 1));
    cases.push_back(elementwise_case(type, 512, 16, 2));
    cases.push_back(elementwise_case(type, 512, 32, 16 / bytes_of(type)));
    cases.push_back(elementwise_case(type, 1024, 16, 32));
  }
  check_on_shim(cases);
}

TEST_CASE("a matrix product in shared tiles, every type, whole and guarded", "[cuda_source]") {
  std::vector<GpuCase> cases;
  for (const auto& [type, sum] : {std::pair{DType::f32, DType::f32},
                                  {DType::f64, DType::f64},
                                  {DType::f16, DType::f32},
                                  {DType::bf16, DType::f32},
                                  {DType::i8, DType::i32},
                                  {DType::i32, DType::i32}}) {
    cases.push_back(gemm_case(type, sum, 64, 32, 16));
    cases.push_back(gemm_case(type, sum, 37, 41, 19));
  }
  check_on_shim(cases);
}

TEST_CASE("sums through shared memory, two kernels and a workspace", "[cuda_source]") {
  check_on_shim({softmax_case(5, 96, 32), softmax_case(3, 77, 64), softmax_case(2, 8, 1)});
  const CudaSource source = source_of(softmax_case(5, 96, 32).program, "softmax");
  REQUIRE(source.launches.size() == 2);
  CHECK(source.launches[0].kernel == "softmax_0");
  CHECK(source.launches[0].grid == std::array<std::int64_t, 3>{5, 1, 1});
  CHECK(source.launches[0].block == std::array<std::int64_t, 3>{32, 1, 1});
  CHECK(source.launches[0].static_shared_bytes == 128);
  CHECK(source.launches[0].buffers == std::vector<std::int32_t>{0, 2});
  CHECK(source.launches[1].buffers == std::vector<std::int32_t>{0, 1, 2});
  CHECK(source.launches[1].shared_bytes() == 0);
  REQUIRE(source.buffers.size() == 3);
  CHECK(source.buffers[2].argument == -1);
  CHECK(source.workspace_bytes == 256);
  CHECK_FALSE(source.buffers[0].is_written);
  CHECK(source.buffers[1].is_written);
}

TEST_CASE("shared memory above 48 KiB is dynamic", "[cuda_source]") {
  check_on_shim({reverse_case(DType::f32, 3, 64, 32), reverse_case(DType::f64, 2, 8192, 128),
                 reverse_case(DType::boolean, 2, 64, 16)});
  const CudaSource large = source_of(reverse_case(DType::f64, 2, 8192, 128).program, "large");
  CHECK(large.launches[0].dynamic_shared_bytes == 65536);
  CHECK(large.launches[0].static_shared_bytes == 0);
  const CudaSource small = source_of(reverse_case(DType::f64, 2, 6144, 128).program, "small");
  CHECK(small.launches[0].static_shared_bytes == 49152);
}

TEST_CASE("calls, conversions and divisions of every type", "[cuda_source]") {
  std::vector<GpuCase> cases;
  for (const DType type : all_dtypes) {
    if (type != DType::boolean && type != DType::u8) {
      cases.push_back(calls_case(type));
    }
  }
  check_on_shim(cases);
}

TEST_CASE("texts of CUDA programs", "[cuda_source][golden_text]") {
  const auto check = [](const GpuCase& example) {
    CHECK(same_as_golden("cuda/" + example.name + ".cu",
                         source_of(example.program, example.name).text));
  };
  check(elementwise_case(DType::f32, 512, 32, 4));
  check(elementwise_case(DType::f16, 512, 32, 8));
  check(gemm_case(DType::f32, DType::f32, 64, 32, 16));
  check(gemm_case(DType::i8, DType::i32, 37, 41, 19));
  check(softmax_case(3, 77, 64));
  check(reverse_case(DType::f64, 2, 8192, 128));
}

TEST_CASE("the same program gives the same CUDA text", "[cuda_source]") {
  const auto text = [] {
    return source_of(gemm_case(DType::f32, DType::f32, 37, 41, 19).program, "gemm").text;
  };
  CHECK(text() == text());
}

TEST_CASE("64-bit indices where 32 bits are not enough", "[cuda_source]") {
  const auto text = [](std::int64_t rows) {
    GpuBuild b;
    const BufferId x = b.arg("x", {rows, 1 << 20}, DType::i8);
    const VarId i = b.var("i"), t = b.var("t");
    b.p.body = b.loop(
        i, rows, b.loop(t, 32, b.store(x, {b.v(i), b.v(t)}, b.c(1, DType::i8)), ForKind::thread_x),
        ForKind::block_x);
    return source_of(b.p, "fill").text;
  };
  CHECK(text(2000).find("const int block_x = blockIdx.x;") != std::string::npos);
  CHECK(text(4000).find("const long long block_x = blockIdx.x;") != std::string::npos);
}

TEST_CASE("how far serial loops are unrolled; private arrays are added up by scope",
          "[cuda_source]") {
  const auto source = [](std::int64_t columns) {
    GpuBuild b;
    const BufferId x = b.arg("x", {64, columns});
    const BufferId own = b.temp("own", {columns}, Scope::local),
                   next = b.temp("next", {columns}, Scope::local);
    const VarId t = b.var("t"), i = b.var("i"), j = b.var("j"), k = b.var("k");
    const ExprList at{b.v(j)};
    const StmtId body =
        b.loop(j, columns, b.store(own, at, b.add(b.load(own, at), b.load(x, {b.v(i), b.v(j)}))),
               ForKind::unrolled);
    const StmtId out =
        b.alloc(next, b.loop(k, 2, b.store(x, {b.v(t), b.v(k)}, b.c(0, DType::f32))));
    b.p.body = b.loop(t, 8, b.seq({b.alloc(own, b.loop(i, 64, body)), out}), ForKind::thread_x);
    return source_of(b.p, "sum");
  };
  CHECK(source(2).text.find("#pragma unroll 6") == std::string::npos);  // 64 * 2: the compiler's
  CHECK(source(16).text.find("#pragma unroll 8\n    for (int i = 0") != std::string::npos);
  CHECK(source(16).launches[0].private_bytes == 64);
}

TEST_CASE("programs that have no CUDA text say why", "[cuda_source][error]") {
  GpuBuild b;
  const BufferId x = b.arg("x", {8});
  const VarId i = b.var("i"), j = b.var("j");
  const StmtId store = b.store(x, {b.v(i)}, b.c(1, DType::f32));
  const auto reason = [&](StmtId body) {
    b.p.body = body;
    const auto source = cuda_source(b.p, ampere);
    REQUIRE_FALSE(source.has_value());
    return source.error();
  };
  CHECK(reason(b.loop(i, 8, b.loop(j, 4, store, ForKind::block_x), ForKind::thread_x)) ==
        "no CUDA text: loop j is bound to an axis that is taken, or to blocks inside threads");
  CHECK(reason(b.loop(j, 4, b.loop(i, 8, store, ForKind::thread_x))) ==
        "no CUDA text: loop i is bound to the GPU inside a thread's work");
  CHECK(reason(b.loop(i, 8, b.loop(j, 2, store, ForKind::vthread), ForKind::thread_x)) ==
        "no CUDA text: loop j is a virtual thread that lowering has left");
  const BufferId inside = b.temp("inside", {8}, Scope::global);
  CHECK(reason(b.loop(i, 8, b.alloc(inside, store), ForKind::thread_x)) ==
        "no CUDA text: global buffer inside is allocated in a kernel");
  const BufferId lanes = b.temp("lanes", {1, 1, 8}, Scope::warp);
  const auto of_lanes = [&](ExprId from, StmtId body) {
    const ExprList at{b.n(0), b.n(0), from};
    const StmtId use = body.valid() ? body : b.store(x, {b.v(i)}, b.load(lanes, at));
    return b.alloc(lanes, b.loop(i, 8, use, ForKind::thread_x));
  };
  const std::string astray = "no CUDA text: buffer lanes of a warp is not accessed lane by lane";
  CHECK(reason(of_lanes(b.p.pool.sub(b.n(7), b.v(i)), {})) == astray);
  CHECK(reason(of_lanes({}, b.store(lanes, {b.n(0), b.n(0), b.n(3)}, b.c(1, DType::f32)))) ==
        astray);
  const ExprId own = b.load(lanes, {b.n(0), b.n(0), b.v(i)});
  CHECK(reason(of_lanes({}, b.store(x, {b.v(i)}, b.add(own, own)))) ==
        "no CUDA text: buffer lanes of a warp is read in an expression");
  b.p.body = b.loop(i, 8, store, ForKind::thread_x);
  CHECK(cuda_source(b.p, Target::x86_64_v3()).error() == "target x86-64-v3 is no CUDA device");
  CHECK(cuda_source(b.p, ampere).has_value());
}

TEST_CASE("launches beyond a device's limits are refused before compiling", "[cuda_source]") {
  const GpuLimits turing = *Target::cuda(75)->gpu, hopper = *Target::cuda(90)->gpu;
  CudaLaunch launch;
  launch.kernel = "k";
  launch.block = {32, 8, 1};
  CHECK(check_launch(launch, turing).has_value());
  launch.block = {64, 32, 1};
  CHECK(check_launch(launch, hopper).error() ==
        "kernel k needs 2048 threads in a block, the device has at most 1024");
  launch.block = {1, 1, 128};
  CHECK(check_launch(launch, hopper).error() ==
        "kernel k needs 128 threads of a block along z, the device has at most 64");
  launch.block = {32, 1, 1};
  launch.grid = {1, 70000, 1};
  CHECK(check_launch(launch, hopper).error() ==
        "kernel k needs 70000 blocks along y, the device has at most 65535");
  launch.grid = {1, 1, 1};
  launch.private_bytes = 1024;
  CHECK(check_launch(launch, hopper).has_value());  // slow, but right
  CHECK(check_arrays(launch, hopper).error() ==
        "kernel k needs 1024 bytes for the arrays of a thread in registers, the device has at most "
        "1020");
  launch.private_bytes = 1020;
  CHECK(check_arrays(launch, hopper).has_value());
  launch.dynamic_shared_bytes = 100 * 1024;
  CHECK(check_launch(launch, hopper).has_value());
  CHECK(check_launch(launch, turing).error() ==
        "kernel k needs 102400 bytes of shared memory in a block, the device has at most 65536");
}

// What the shim itself must do: text by hand.
namespace {

CudaSource by_hand(const std::string& name, const std::string& text, std::int64_t threads) {
  CudaSource source;
  source.text = text;
  source.buffers.push_back({"x", DType::i32, threads * 4, 0, 0, true});
  CudaLaunch launch;
  launch.kernel = name;
  launch.block = {threads, 1, 1};
  launch.buffers = {0};
  source.launches.push_back(launch);
  return source;
}

}  // namespace

TEST_CASE("the shim exchanges values in a warp, and finds barriers that not all reach",
          "[cuda_source][shim]") {
  const std::string head = "extern \"C\" __global__ void ";
  const ShimLibrary library(
      {by_hand("sum",
               head + "sum(int* x) {\n  int v = x[threadIdx.x];\n"
                      "  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);\n"
                      "  x[threadIdx.x] = v;\n}\n",
               64),
       by_hand("shift",
               head +
                   "shift(int* x) {\n"
                   "  x[threadIdx.x] = __shfl_down_sync(0xffffffffu, x[threadIdx.x], 1, 8);\n}\n",
               32),
       by_hand("half",
               head + "half(int* x) {\n  if (threadIdx.x < 16) {\n    __syncthreads();\n  }\n"
                      "  x[0] = 1;\n}\n",
               32),
       by_hand("two",
               head + "two(int* x) {\n  if (threadIdx.x < 16) {\n    __syncthreads();\n  } else {\n"
                      "    __syncthreads();\n  }\n  x[0] = 1;\n}\n",
               32),
       by_hand("lost",
               head + "lost(int* x) {\n  if (threadIdx.x > 0)\n"
                      "    x[threadIdx.x] = __shfl_sync(0xffffffffu, x[threadIdx.x], 1);\n}\n",
               32)});
  for (const unsigned order : {0u, 1u, 5u}) {
    std::vector<HostArray> x{HostArray(DType::i32, {64})};
    for (std::int64_t i = 0; i < 64; ++i) {
      x[0].set_int(i, i);
    }
    std::vector<HostArray> shifted = {HostArray(DType::i32, {32})};
    for (std::int64_t i = 0; i < 32; ++i) {
      shifted[0].set_int(i, i);
    }
    REQUIRE(library.run(0, x, order) == "");
    REQUIRE(library.run(1, shifted, order) == "");
    bool is_good = true;
    for (std::int64_t i = 0; i < 64; ++i) {
      is_good = is_good && x[0].get_int(i) == (i < 32 ? 496 : 1520);
    }
    for (std::int64_t i = 0; i < 32; ++i) {
      is_good = is_good && shifted[0].get_int(i) == (i % 8 == 7 ? i : i + 1);
    }
    CHECK(is_good);
    CHECK(library.run(2, shifted, order) ==
          "half: 16 of 32 threads wait at a barrier, 16 have ended");
    CHECK(library.run(3, shifted, order).find("two: threads wait at the barriers of line") == 0);
    CHECK(library.run(4, shifted, order) ==
          "lost: 0 of 32 threads wait at a barrier, 1 have ended");
  }
}
