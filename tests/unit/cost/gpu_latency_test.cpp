// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/gpu_latency.hpp"

#include "support/catch.hpp"
#include "tensorsmith/cost/gpu_access.hpp"
#include "tensorsmith/ir/lane_access.hpp"
#include "unit/cost/gpu_fixtures.hpp"

using namespace tensorsmith;
using test::copy_program;
using test::gemm_program;
using test::GemmTiles;

namespace {

Target board(const char* name) { return *Target::from_name(name); }

GpuKernelTime time_of(const LoopProgram& program, const char* name = "a100") {
  const auto latency = gpu_latency(program, board(name));
  REQUIRE(latency.has_value());
  REQUIRE(latency->kernels.size() == 1);
  CHECK(latency->ns == latency->kernels[0].ns);
  return latency->kernels[0];
}
double ns_of(const LoopProgram& program, const char* name = "a100") {
  return time_of(program, name).ns;
}

Lanes strided(std::int64_t bytes) {
  Lanes lanes;
  for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
    lanes[lane] = static_cast<std::int64_t>(lane) * bytes;
  }
  return lanes;
}

}  // namespace

TEST_CASE("a warp's access to global memory is counted in sectors and lines") {
  CHECK(global_cost(strided(4), 4, all_lanes).sectors == 4);
  CHECK(global_cost(strided(4), 4, all_lanes).lines == 1);
  CHECK(global_cost(strided(0), 4, all_lanes).sectors == 1);
  CHECK(global_cost(strided(16), 16, all_lanes).sectors == 16);
  CHECK(global_cost(strided(128), 4, all_lanes).sectors == 32);
  CHECK(global_cost(strided(128), 4, all_lanes).lines == 32);
  CHECK(global_cost(strided(128), 4, 0xFF).lines == 8);
  Lanes shifted = strided(4);
  for (std::int64_t& address : shifted) {
    address += 4;  // one sector more
  }
  CHECK(global_cost(shifted, 4, all_lanes).sectors == 5);
}

TEST_CASE("passes over shared memory: stride, broadcast, wide access") {
  CHECK(shared_passes(strided(4), 4, all_lanes) == 1);
  CHECK(shared_passes(strided(0), 4, all_lanes) == 1);
  CHECK(shared_passes(strided(8), 4, all_lanes) == 2);
  CHECK(shared_passes(strided(128), 4, all_lanes) == 32);
  CHECK(shared_passes(strided(132), 4, all_lanes) == 1);  // a padded row
  CHECK(shared_passes(strided(16), 16, all_lanes) == 4);
  CHECK(shared_passes(strided(8), 8, all_lanes) == 2);
  CHECK(shared_passes(strided(2), 2, all_lanes) == 1);  // two lanes share a word
}

TEST_CASE("blocks of an SM are limited by threads, blocks, registers and shared memory") {
  const GpuLimits a100 = *board("a100").gpu;
  CHECK(gpu_blocks_per_sm(a100, 256, 0, 32) == 8);
  CHECK(gpu_blocks_per_sm(a100, 32, 0, 16) == 32);
  CHECK(gpu_blocks_per_sm(a100, 256, 0, 128) == 2);
  CHECK(gpu_blocks_per_sm(a100, 256, 40 * 1024, 32) == 4);
  CHECK(gpu_blocks_per_sm(a100, 1024, 0, 255) == 0);
  CHECK(gpu_blocks_per_sm(a100, 2048, 0, 16) == 0);
  CHECK(gpu_blocks_per_sm(a100, 32, 164 * 1024, 16) == 0);
  CHECK(gpu_blocks_per_sm(*board("t4").gpu, 256, 0, 32) == 4);
}

TEST_CASE("a large copy is bound by DRAM, near the board's bandwidth, and by nothing else") {
  const std::int64_t blocks = 1 << 16;  // 128 MiB there and back
  for (const GpuModel& model : gpu_models) {
    INFO(model.name);
    const GpuKernelTime time = time_of(copy_program(blocks, 512), model.name.data());
    CHECK(time.bound() == "DRAM");
    const double bytes = 2.0 * 4 * 512 * static_cast<double>(blocks);
    CHECK(time.dram_bytes == bytes);
    CHECK(bytes / time.ns > 0.6 * model.dram_bytes_per_ns);
    CHECK(bytes / time.ns < model.dram_bytes_per_ns);
  }
}

TEST_CASE("uncoalesced reads are worse, the more the larger the stride") {
  const double dense = ns_of(copy_program(1 << 14, 1024));
  const double pairs = ns_of(copy_program(1 << 14, 1024, 2));
  const double sectors = ns_of(copy_program(1 << 14, 1024, 8));
  CHECK(pairs > 1.1 * dense);
  CHECK(sectors > 1.5 * pairs);
  CHECK(time_of(copy_program(4096, 256, 8)).work.global_passes >
        4 * time_of(copy_program(4096, 256)).work.global_passes / 2);
}

TEST_CASE("a grid too small for the board, and blocks too small for an SM, cost time") {
  const auto per_element = [](std::int64_t blocks, std::int64_t threads) {
    const double launch = GpuModelOptions{}.launch_ns;
    return (ns_of(copy_program(blocks, threads)) - launch) / static_cast<double>(blocks * threads);
  };
  CHECK(per_element(4, 256) > 5 * per_element(1024, 256));
  CHECK(per_element(1 << 18, 8) > 2 * per_element(1 << 13, 256));
}

TEST_CASE("more blocks never take less time, and a new wave takes more") {
  double last = 0;
  for (std::int64_t blocks = 1; blocks <= 4096; blocks *= 2) {
    const double now = ns_of(copy_program(blocks, 1024));
    CHECK(now >= last);
    last = now;
  }
  const GpuKernelTime full = time_of(copy_program(108 * 2, 1024));
  const GpuKernelTime over = time_of(copy_program(108 * 2 + 1, 1024));
  CHECK(full.num_waves == 1);
  CHECK(over.num_waves == 2);
  CHECK(over.ns > full.ns);
}

TEST_CASE("a matrix product gains from larger tiles of threads and of blocks") {
  GemmTiles tiles;
  tiles.thread = 1, tiles.block = 16;
  const double smallest = ns_of(gemm_program(tiles));
  tiles.thread = 2, tiles.block = 32;
  const double small = ns_of(gemm_program(tiles));
  tiles.thread = 4, tiles.block = 64;
  const double medium = ns_of(gemm_program(tiles));
  CHECK(smallest > 1.5 * small);
  CHECK(small > 1.3 * medium);
  tiles.n = 4096;
  const double before = ns_of(gemm_program(tiles));
  tiles.thread = 8, tiles.block = 128;
  CHECK(before > ns_of(gemm_program(tiles)));
  // One that is well made is bound by arithmetic or by issuing it, below the peak and not far.
  const GpuKernelTime large = time_of(gemm_program(tiles));
  const double peak = 108 * 64 * 2 * 1.41;
  const double reached = 2.0 * 4096 * 4096 * 4096 / large.ns;
  CHECK(reached < peak);
  CHECK(reached > 0.4 * peak);
  CHECK(large.work.f32 == 4096 * 64);  // per thread: 8 x 8 sums of 4096 terms
  CHECK(large.work.shared_bytes == 2 * 128 * 16 * 4);
  CHECK(large.work.num_threads == 256);
  CHECK(large.work.registers > 64);
}

TEST_CASE("bank conflicts are seen, and padding takes them away") {
  const GpuKernelTime plain = time_of(test::transpose_program(2048, 0), "h100");
  const GpuKernelTime padded = time_of(test::transpose_program(2048, 1), "h100");
  CHECK(plain.work.shared_passes == 33);  // one store, a load of 32 rows of one bank
  CHECK(padded.work.shared_passes == 2);
  CHECK(plain.bound() == "shared memory");
  CHECK(plain.ns > 1.5 * padded.ns);
  CHECK(plain.l2_bytes == padded.l2_bytes);
}

TEST_CASE("wide fetches take fewer instructions and as many bytes") {
  GemmTiles tiles;
  tiles.n = 2048, tiles.block = 128, tiles.thread = 8;
  const GpuKernelTime narrow = time_of(gemm_program(tiles));
  tiles.is_fetched_wide = true;
  const GpuKernelTime wide = time_of(gemm_program(tiles));
  CHECK(wide.work.instructions < narrow.work.instructions);
  CHECK(wide.l2_bytes == narrow.l2_bytes);
  CHECK(wide.ns < 1.02 * narrow.ns);  // arithmetic is what takes the time
}

TEST_CASE("more registers than there are go to memory and come back") {
  GemmTiles tiles;
  tiles.n = 2048, tiles.block = 128, tiles.thread = 8;
  const GpuKernelTime fits = time_of(gemm_program(tiles));
  tiles.thread = 16, tiles.block = 256;  // 256 sums per thread
  const GpuKernelTime spills = time_of(gemm_program(tiles));
  CHECK(fits.work.spilled == 0);
  CHECK(spills.work.spilled > 0);
  CHECK(spills.work.registers == 255);
  CHECK(spills.ns > fits.ns);
}

TEST_CASE("a program that a board cannot hold is refused with the limit") {
  const auto threads = gpu_latency(copy_program(1, 2048), board("a100"));
  REQUIRE_FALSE(threads.has_value());
  CHECK(threads.error().kind == GpuLimitExceeded::Kind::threads);
  CHECK(explain(threads.error()) == "threads of a block: 2048, the device has 1024");
  GemmTiles tiles;
  tiles.block = 128, tiles.thread = 8, tiles.steps = 128;  // 128 KiB
  const LoopProgram large = gemm_program(tiles);
  const auto shared = gpu_latency(large, board("t4"));
  REQUIRE_FALSE(shared.has_value());
  CHECK(shared.error().kind == GpuLimitExceeded::Kind::shared_memory);
  CHECK(shared.error().wanted == 128 * 1024);
  CHECK(gpu_latency(large, board("a100")).has_value());
}

TEST_CASE("rows that a wave reads again come from L2 if they fit there") {
  // Each row is read `times` by its block of 256 threads.
  const auto bytes = [](std::int64_t times, std::int64_t num_rows, std::int64_t columns) {
    test::GpuProgram p;
    const BufferId a = p.buffer("A", {num_rows, columns}), b = p.buffer("B", {num_rows, 256});
    const VarId bx = p.program.pool.new_var("bx"), tx = p.program.pool.new_var("tx");
    std::vector<StmtId> parts;
    for (std::int64_t i = 0; i < times; ++i) {
      const VarId k = p.program.pool.new_var("k");
      const ExprId sum =
          p.program.pool.add(p.load(b, {p.var(bx), p.var(tx)}),
                             p.load(a, {p.var(bx), p.mul_add(p.var(k), 256, p.var(tx))}));
      parts.push_back(
          p.loop(k, columns / 256, ForKind::serial, p.store(b, {p.var(bx), p.var(tx)}, sum)));
    }
    p.program.body = p.loop(bx, num_rows, ForKind::block_x,
                            p.loop(tx, 256, ForKind::thread_x, p.seq(std::move(parts))));
    return time_of(p.program).dram_bytes;
  };
  const double once = bytes(1, 8192, 4096);  // 8 rows of 16 KiB per multiprocessor at a time
  CHECK(bytes(3, 8192, 4096) == test::Approx(once).epsilon(0.01));
  CHECK(bytes(3, 8192, 65536) > 1.5 * bytes(1, 8192, 65536));  // 256 KiB: more than L2 holds
}

TEST_CASE("a faster board takes less time; the same program always the same") {
  GemmTiles tiles;
  tiles.n = 4096, tiles.block = 128, tiles.thread = 8;
  const LoopProgram gemm = gemm_program(tiles);
  CHECK(ns_of(gemm, "t4") > ns_of(gemm, "a100"));
  CHECK(ns_of(gemm, "a100") > ns_of(gemm, "h100"));
  CHECK(ns_of(gemm, "orin") > ns_of(gemm, "t4"));
  CHECK(ns_of(gemm, "h100") >= ns_of(gemm, "h200"));
  CHECK(ns_of(gemm) == ns_of(gemm_program(tiles)));
}

TEST_CASE("kernels one after the other add up, each with a launch") {
  LoopProgram two = copy_program(512, 256);
  const StmtId kernel = two.body;
  const double one = ns_of(two);
  two.body = two.add(Seq{{kernel, kernel}});
  const auto latency = gpu_latency(two, board("a100"));
  REQUIRE(latency.has_value());
  CHECK(latency->kernels.size() == 2);
  CHECK(latency->ns == 2 * one);
}

TEST_CASE("warps that a condition leaves out do nothing") {
  test::GpuProgram p;
  const BufferId a = p.buffer("A", {1 << 20}), b = p.buffer("B", {1 << 20});
  const VarId bx = p.program.pool.new_var("bx"), tx = p.program.pool.new_var("tx");
  const ExprId i = p.mul_add(p.var(bx), 256, p.var(tx));
  const auto guarded = [&](std::int64_t count) {
    const StmtId store = p.store(b, {i}, p.load(a, {i}));
    const StmtId branch =
        p.program.add(If{p.program.pool.lt(p.var(tx), p.imm(count)), store, StmtId{}});
    p.program.body = p.loop(bx, 4096, ForKind::block_x, p.loop(tx, 256, ForKind::thread_x, branch));
    return time_of(p.program).work;
  };
  CHECK(guarded(128).global_passes == guarded(256).global_passes / 2);
  CHECK(guarded(16).instructions < guarded(256).instructions);
}

TEST_CASE("an array of a thread is registers in a straight line, memory in a loop that stays one") {
  const auto with = [](ForKind kind, std::int64_t extent) {
    test::GpuProgram p;
    const BufferId a = p.buffer("A", {1 << 20}), b = p.buffer("B", {1 << 16});
    const BufferId kept = p.buffer("kept", {extent}, Scope::local);
    const VarId bx = p.program.pool.new_var("bx"), tx = p.program.pool.new_var("tx");
    const VarId i = p.program.pool.new_var("i"), j = p.program.pool.new_var("j");
    const ExprId element = p.mul_add(p.var(bx), 256, p.var(tx));
    const StmtId in =
        p.loop(i, extent, kind,
               p.store(kept, {p.var(i)}, p.load(a, {p.mul_add(p.var(i), 1 << 16, element)})));
    const StmtId out = p.loop(j, extent, kind, p.store(b, {element}, p.load(kept, {p.var(j)})));
    p.program.body = p.loop(bx, 256, ForKind::block_x,
                            p.loop(tx, 256, ForKind::thread_x, p.alloc(kept, p.seq({in, out}))));
    return time_of(p.program).work;
  };
  const GpuWork kept = with(ForKind::unrolled, 16), written_out = with(ForKind::serial, 16);
  CHECK(kept.private_bytes == 0);
  CHECK(written_out.private_bytes == 0);  // the compiler unrolls it
  CHECK(written_out.global_passes == kept.global_passes);
  const GpuWork array = with(ForKind::serial, 2048);
  CHECK(array.global_passes == 128 * kept.global_passes + 2 * 2048);
  CHECK(array.private_bytes >= 256 * 2048 * 4);
  CHECK(array.private_l2_bytes > 0);  // more than L1 holds
}

TEST_CASE("what fits L2 is there when the program is called again") {
  const GpuKernelTime small = time_of(copy_program(1024, 1024));  // 8 MiB of 40
  CHECK(small.dram_bytes == 0);
  CHECK(time_of(copy_program(1024, 1024), "t4").dram_bytes > 0);  // of 4
  const GpuKernelTime large = time_of(copy_program(16 * 1024, 1024));
  CHECK(large.dram_bytes == 2.0 * 4 * 1024 * 16 * 1024);
  CHECK(large.ns > 16 * (small.ns - GpuModelOptions{}.launch_ns));
}

TEST_CASE("a board starts its blocks one after the other, so few large ones are not slower") {
  const GpuKernelTime many = time_of(copy_program(1 << 18, 32));
  CHECK(many.bound() == "starting blocks");
  double last = many.ns;
  for (std::int64_t threads = 64; threads <= 256; threads *= 2) {
    const double now = ns_of(copy_program((1 << 23) / threads, threads));
    CHECK(now <= last);
    last = now;
  }
}

TEST_CASE("what lanes pass to each other costs less than a way through shared memory") {
  const auto with = [](Scope scope) {
    test::GpuProgram p;
    ExprPool& pool = p.program.pool;
    const BufferId a = p.buffer("A", {1 << 16}), b = p.buffer("B", {1 << 16});
    const BufferId lanes = p.buffer("lanes", {1, 1, 64}, scope);
    const BufferId own = p.buffer("own", {1}, Scope::local);
    const VarId bx = pool.new_var("bx"), tx = pool.new_var("tx");
    const ExprId element = p.mul_add(p.var(bx), 64, p.var(tx)), zero = p.imm(0);
    const ExprId other = xor_index(pool, p.var(tx), 16);
    const StmtId body = p.seq({p.store(lanes, {zero, zero, p.var(tx)}, p.load(a, {element})),
                               p.program.add(Barrier{scope}),
                               p.store(own, {zero}, p.load(lanes, {zero, zero, other})),
                               p.store(b, {element}, p.load(own, {zero}))});
    p.program.body = p.loop(bx, 1024, ForKind::block_x,
                            p.alloc(lanes, p.loop(tx, 64, ForKind::thread_x, p.alloc(own, body))));
    return time_of(p.program).work;
  };
  const GpuWork shuffled = with(Scope::warp), shared = with(Scope::shared);
  CHECK(shuffled.shared_bytes == 0);
  CHECK(shared.shared_bytes == 256);
  CHECK(shuffled.shared_passes == 1);  // one way, not two
  CHECK(shared.shared_passes == 2);
  CHECK(shared.instructions > shuffled.instructions + 1);  // the store, the barrier, addresses
  CHECK(shuffled.path_clocks < shared.path_clocks);
  CHECK(shuffled.registers == shared.registers + 1);
}
