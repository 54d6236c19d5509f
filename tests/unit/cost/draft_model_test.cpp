// SPDX-License-Identifier: Apache-2.0
#include "draft_fixtures.hpp"

#include "tensorsmith/cost/draft_program.hpp"
#include "tensorsmith/cost/draft_rates.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("the draft prefers register tiles that hide latency and need few loads") {
  const State initial = State::initial(dag_of("gemm:64x64x64:f32"));
  const auto cycles = [&](std::int64_t rows, std::int64_t columns) {
    return draft_cycles(tiled(initial, rows, columns), avx512());
  };
  // 64^3 multiply-adds at 2 x 16 lanes per cycle take 8192 cycles; nothing is estimated below that.
  CHECK(cycles(8, 32) >= 8192);
  CHECK(cycles(8, 32) < 1.5 * 8192);
  CHECK(cycles(1, 16) > 4 * cycles(8, 32));   // one accumulator waits for itself
  CHECK(cycles(8, 4) > 2 * cycles(8, 32));    // 4 of 16 lanes
  CHECK(cycles(64, 64) < 2 * cycles(8, 32));  // too many accumulators: lowering cuts the tile
}

TEST_CASE("the draft counts what is loaded again where a register tile leaves no room") {
  const State initial = State::initial(dag_of("C[i:84,j:24,l:8] += A[k:64,j,l]*B[k,i]"));
  const auto cycles = [&](std::int64_t rows, const Target& target) {
    const State state =
        bounded(initial, {SplitStep{2, 0, 84, {rows}, true}, SplitStep{2, 2, 24, {2}, true},
                          ReorderStep{2, {0, 2, 5, 1, 3, 4}}});
    return draft_cycles(state, target);
  };
  // Two vectors wait while a value of B is used: beside 12 accumulators, not beside 14.
  const Target narrow = Target::x86_64_v3();
  CHECK(cycles(7, narrow) > 1.3 * cycles(6, narrow));
  CHECK(cycles(7, avx512()) < 1.1 * cycles(6, avx512()));
}

TEST_CASE("the draft gives tiles that need two loads per cycle less on Intel's server cores") {
  const State initial = State::initial(dag_of("gemm:60x64x64:f32"));
  const auto ratio = [&](const char* cpu) {
    const Target target = *Target::from_name(cpu);
    const auto of = [&](std::int64_t rows, std::int64_t columns) {
      const State state =
          bounded(initial, {SplitStep{2, 0, 60, {rows}, true}, SplitStep{2, 2, 64, {columns}, true},
                            ReorderStep{2, {0, 2, 4, 1, 3}}});
      return draft_cycles(state, target);
    };
    return of(30, 16) / of(12, 32);
  };
  CHECK(ratio("icelake-server") > 1.1 * ratio("znver5"));
  CHECK(ratio("icelake-server") == test::Approx(ratio("sapphirerapids")));
}

TEST_CASE("a host, a level of instructions, has the rates of the core that it is") {
  for (const char* core : {"icelake-server", "znver4", "znver5"}) {
    Target host = Target::x86_64_v4();
    host.llvm_tune = core;
    const auto rates = detail::draft_rates(host),
               known = detail::draft_rates(*Target::from_name(core));
    CHECK(rates.loads_per_cycle == known.loads_per_cycle);
    CHECK(rates.tracked == known.tracked);
  }
  CHECK(detail::draft_rates(*Target::from_name("icelake-server")).loads_per_cycle == 1.6);
  CHECK(detail::draft_rates(*Target::from_name("znver4")).tracked == 16);
  CHECK(detail::draft_rates(Target::x86_64_v4()).tracked > 1e6);
  Target narrow = Target::x86_64_v3();
  narrow.llvm_tune = "znver4";
  CHECK(detail::draft_rates(narrow).loads_per_cycle == 1.7);
  CHECK(detail::draft_rates(narrow).tracked == 16);
  narrow.llvm_tune = "znver5";
  CHECK(detail::draft_rates(narrow).tracked > 1e6);
}

TEST_CASE("what falls into one set of a cache follows from its size and ways") {
  Target target = *Target::from_name("x86-64-v3");
  const CoreRates believed = detail::draft_rates(target);
  target.caches.l1d_bytes = 128 << 10;
  target.caches.l2_bytes = 12 << 20;
  CHECK(detail::draft_rates(target).way_bytes == believed.way_bytes);
  target.caches.l1d_ways = 8;
  target.caches.l2_ways = 12;
  CHECK(detail::draft_rates(target).way_bytes[0] == 16384);
  CHECK(detail::draft_rates(target).way_bytes[1] == 1 << 20);
  CHECK(detail::draft_rates(target).way_bytes[2] == believed.way_bytes[2]);
  target.rates = believed;  // measured
  CHECK(detail::draft_rates(target).way_bytes == believed.way_bytes);
}

TEST_CASE("on Zen 4 and 5 a product of few rows reads few rows of memory at a time") {
  const State initial = State::initial(dag_of("gemm:4x4096x4096:f32"));
  const auto cycles = [&](const char* cpu, std::int64_t run) {  // columns inside blocks of rows
    const State state =
        bounded(initial, {SplitStep{2, 1, 4096, {16}, true}, SplitStep{2, 3, 4096, {run}, true},
                          ReorderStep{2, {3, 1, 4, 0, 2}}});
    Target target = *Target::from_name(cpu);
    target.caches.l3_bytes = 32 << 20;
    return draft_cycles(state, target);
  };
  for (const char* cpu : {"znver4", "znver5"}) {
    CHECK(cycles(cpu, 32) > 1.2 * cycles(cpu, 8));
  }
  CHECK(cycles("x86-64-v4", 32) < 1.1 * cycles("x86-64-v4", 8));
}

TEST_CASE("on Zen 4 memory comes fastest by long stretches of some rows, whoever asks for them") {
  const State initial = State::initial(dag_of("gemm:4x4096x4096:f32"));
  Target target = *Target::from_name("znver4");
  target.caches.l3_bytes = 32 << 20;
  const auto cycles = [&](std::int64_t run, std::int64_t tiles, bool ahead = false) {
    std::vector<Step> steps = {SplitStep{2, 1, 4096, {tiles, 16}, true},  // blocks of columns
                               SplitStep{2, 4, 4096, {run}, true},
                               ReorderStep{2, {1, 4, 2, 5, 0, 3}}};
    if (ahead) {
      steps.push_back(PragmaStep{2, 0, "prefetch_block$1$1"});
    }
    return draft_parts(bounded(initial, std::move(steps)), target).levels[2];
  };
  CHECK(cycles(2, 256) > 1.3 * cycles(8, 256));
  CHECK(cycles(8, 32) > 1.1 * cycles(8, 256));  // 2 KB of each row, not 16
  CHECK(cycles(8, 256, true) >= cycles(8, 256));
}

TEST_CASE("the draft gives tile registers sixteen cycles for a product") {
  const State initial = State::initial(dag_of("gemm:64x64x256:bf16"));
  const auto cycles = [&](std::int64_t rows, std::int64_t columns, const char* intrinsic) {
    State state = tiled(initial, rows, columns);
    REQUIRE(!try_apply(state, PragmaStep{2, 0, intrinsic}));
    return draft_parts(state, *Target::from_name("sapphirerapids")).core;
  };
  // 4 x 4 tiles, 8 products of each.
  const double tiles = cycles(32, 32, "tensorize$tdpbf16ps");
  CHECK(tiles > 16 * 16 * 8);
  CHECK(tiles < 2 * 16 * 16 * 8);
  CHECK(cycles(8, 32, "tensorize$vdpbf16ps") > 3 * tiles);
  CHECK(cycles(16, 16, "tensorize$tdpbf16ps") > 2 * tiles);  // a product waits for the last one
}

TEST_CASE("the draft knows reductions inside, gathers, idle cores and attached stages") {
  const State initial = State::initial(dag_of("gemm:64x64x64:f32"));
  const double tile = draft_cycles(tiled(initial, 8, 32), avx512());
  CHECK(draft_cycles(bounded(initial, {}), avx512()) > 1.5 * tile);  // k innermost: one row a tile

  const State transposed = State::initial(dag_of("gemm:64x64x64:f32,tb"));
  CHECK(draft_cycles(tiled(transposed, 8, 32), avx512()) > 3 * tile);  // B[j, k] along j

  State shared = tiled(initial, 8, 32);
  REQUIRE_FALSE(try_apply(shared, AnnotationStep{2, 0, Annotation::parallel}));
  CHECK(draft_cycles(shared, avx512(), 8) == test::Approx(tile / 8));
  CHECK(draft_cycles(shared, avx512(), 5) == test::Approx(tile * 2 / 8));  // two turns of eight
  CHECK(draft_cycles(tiled(initial, 8, 32), avx512(), 8) == test::Approx(tile));

  const State chain = State::initial(dag_of("gemm:64x64x64:f32,relu"));
  const double apart = draft_cycles(bounded(chain, {}), avx512());
  const double rows = draft_cycles(bounded(chain, {ComputeAtStep{2, 3, 0}}), avx512());
  CHECK(rows > 0.5 * apart);  // one run per row of what was one run for all
  CHECK(rows < 4 * apart);
  const double elements = draft_cycles(bounded(chain, {ComputeAtStep{2, 3, 1}}), avx512());
  CHECK(elements > 4 * apart);  // no vectors
}

TEST_CASE("the draft reads a packed copy as it lies in memory") {
  const State transposed = State::initial(dag_of("gemm:64x64x64:f32,tb"));
  const std::vector<Step> copied = {CacheReadStep{1, "packed", {2}}, SplitStep{3, 0, 64, {8}, true},
                                    SplitStep{3, 2, 64, {32}, true},
                                    ReorderStep{3, {0, 2, 4, 1, 3}}};
  std::vector<Step> packed = copied;
  packed.emplace_back(StorageLayoutStep{2, {32, 0}, {0, 2, 1}, 0});
  const double as_it_was = draft_cycles(bounded(transposed, copied), avx512());
  const double in_blocks = draft_cycles(bounded(transposed, packed), avx512());
  CHECK(as_it_was > 2 * in_blocks);
  CHECK(in_blocks > draft_cycles(tiled(State::initial(dag_of("gemm:64x64x64:f32")), 8, 32),
                                 avx512()));  // the copy is not free
}

TEST_CASE("the draft sees that padding takes rows of a copy to other sets of a cache") {
  Target target = avx512();
  target.caches.l1d_bytes = 48 * 1024;
  target.caches.l2_bytes = 1280 * 1024;
  const State initial = State::initial(dag_of("gemm:16x16x65536:f32"));
  const auto rows = [&](std::int64_t padding) {  // 16 of them, 4 KB long, copied inside of k.0
    return draft_cycles(
        bounded(initial, {CacheReadStep{0, "packed", {2}}, SplitStep{3, 2, 65536, {1024}, true},
                          ReorderStep{3, {2, 3, 0, 1}}, ComputeAtStep{1, 3, 0},
                          StorageLayoutStep{1, {0, 0}, {0, 2}, padding}}),
        target);
  };
  CHECK(rows(0) > 1.1 * rows(16));
  CHECK(rows(1024) == test::Approx(rows(0)).epsilon(0.05));  // twice as far apart is no help
}

TEST_CASE("the draft sees which loop order keeps operands in a cache") {
  Target target = avx512();
  target.caches.l1d_bytes = 32 * 1024;
  target.caches.l2_bytes = 256 * 1024;
  target.caches.l3_bytes = 1024 * 1024;
  const State initial = State::initial(dag_of("gemm:768x768x768:f32"));
  // One tile, 12 x 32; k in parts of `run`, inside or outside of the loops over tiles.
  const auto blocked = [&](std::int64_t run, bool is_outer) {
    std::vector<std::int32_t> inside = {0, 2, 4, 5, 1, 3}, outside = {4, 0, 2, 5, 1, 3};
    const std::vector<std::int32_t>& order = is_outer ? outside : inside;
    return draft_cycles(
        bounded(initial, {SplitStep{2, 0, 768, {12}, true}, SplitStep{2, 2, 768, {32}, true},
                          SplitStep{2, 4, 768, {run}, true},
                          ReorderStep{2, IdList(order.begin(), order.end())}}),
        target);
  };
  const double least = 768.0 * 768 * 768 / 32;
  CHECK(blocked(768, false) > least);
  // Parts of 4 outside of all tiles: the whole result passes through the caches 192 times.
  CHECK(blocked(4, true) > 2 * blocked(192, false));
  CHECK(blocked(4, true) > 1.5 * blocked(192, true));
  Target large = target;
  large.caches.l3_bytes = 64 << 20;
  large.caches.l2_bytes = 64 << 20;
  large.caches.l1d_bytes = 64 << 20;
  CHECK(draft_cycles(initial, large) <= draft_cycles(initial, target));
}

TEST_CASE("the draft counts a tail as the shorter tile that it is") {
  // 65 rows in tiles of 8: eight whole ones and one of a single row, which waits for itself.
  const double whole =
      draft_cycles(tiled(State::initial(dag_of("gemm:64x64x64:f32")), 8, 32), avx512());
  const State ragged = State::initial(dag_of("gemm:65x64x64:f32"));
  const double with_tail =
      draft_cycles(bounded(ragged, {SplitStep{2, 0, 65, {8}, true}, SplitStep{2, 2, 64, {32}, true},
                                    ReorderStep{2, {0, 2, 4, 1, 3}}}),
                   avx512());
  CHECK(with_tail > whole);
  CHECK(with_tail < 1.2 * whole);
  // The same loops with i.0 and j.0 fused: the tail is a tile of its own there as well.
  const double fused =
      draft_cycles(bounded(ragged, {SplitStep{2, 0, 65, {8}, true}, SplitStep{2, 2, 64, {32}, true},
                                    ReorderStep{2, {0, 2, 4, 1, 3}}, FuseStep{2, {0, 1}}}),
                   avx512());
  CHECK(fused > whole);
  CHECK(fused < 1.2 * whole);
}

TEST_CASE("the draft knows the layout of a cache stage") {
  // B[j, k] along j is a gather, unless a copy of it lies in panels of 32.
  const State initial = State::initial(dag_of("gemm:64x64x64:f32,tb"));
  const auto packed = [&](bool in_panels) {
    State state = initial;
    REQUIRE_FALSE(try_apply(state, CacheReadStep{1, "local", {2}}));
    if (in_panels) {
      REQUIRE_FALSE(try_apply(state, StorageLayoutStep{2, {32, 0}, {0, 2, 1}, 0}));
    }
    return draft_cycles(
        bounded(state, {SplitStep{3, 0, 64, {8}, true}, SplitStep{3, 2, 64, {32}, true},
                        ReorderStep{3, {0, 2, 4, 1, 3}}}),
        avx512());
  };
  const double direct = draft_cycles(tiled(initial, 8, 32), avx512());
  CHECK(packed(false) > direct);       // a copy more, and nothing gained
  CHECK(packed(true) < 0.5 * direct);  // the copy pays
}

TEST_CASE("the draft knows the taps that are left out, unless the vector loop decides about them") {
  const auto cycles = [](const char* text, bool is_inlined) {
    std::vector<Step> steps;
    if (is_inlined) {
      steps.push_back(ComputeInlineStep{1});
    }
    return draft_cycles(bounded(State::initial(dag_of(text)), std::move(steps)), avx512());
  };
  // One of three taps misses at either end of a row of seven: 19 of 21 count along each axis.
  const auto dag = dag_of("conv2d:n=1,h=7,w=7,ci=64,co=64,k=3,s=1,p=1,layout=nhwc");
  State state = State::initial(dag);
  REQUIRE_FALSE(try_apply(state, ComputeInlineStep{1}));
  const detail::DraftProgram program(state);
  CHECK(program.operation(3).terms.share == test::Approx(19.0 * 19.0 / (21.0 * 21.0)));
  CHECK(program.operation(3).num_conditions == 0);
  const detail::DraftProgram materialised(State::initial(dag));
  CHECK(materialised.operation(3).terms.share == 1);
  CHECK(cycles("conv2d:n=1,h=7,w=7,ci=64,co=64,k=3,s=1,p=1,layout=nhwc", true) <
        0.95 * cycles("conv2d:n=1,h=7,w=7,ci=64,co=64,k=3,s=1,p=1,layout=nhwc", false));
}

TEST_CASE("the draft knows that a phase of a transposed convolution meets a part of the taps") {
  const State initial =
      State::initial(dag_of("conv1d_transpose:n=1,w=64,ci=64,co=32,k=4,s=2,p=1,layout=nhwc"));
  // Stages 0 X, 1 Pad, 2 W, 3 Y: n w co rw rc.
  const double plain = draft_cycles(
      bounded(initial, {SplitStep{3, 1, 128, {8}, true}, ReorderStep{3, {0, 1, 4, 5, 2, 3}}}),
      avx512());
  const double phases = draft_cycles(
      bounded(initial, {SplitStep{3, 1, 128, {8, 2}, true}, SplitStep{3, 5, 4, {2}, true},
                        ReorderStep{3, {0, 1, 3, 6, 5, 7, 2, 4}}}),
      avx512());
  CHECK(phases < plain * 0.6);
}

TEST_CASE("a prefetch pays where a tile reads from many places in memory") {
  const State initial = State::initial(dag_of("gemm:8x4096x4096:f32"));
  Target target = *Target::from_name("znver5");
  target.caches.l3_bytes = 32 << 20;
  const auto cycles = [&](std::int64_t run, bool ahead) {  // B by rows, `run` of them at a time
    std::vector<Step> steps = {SplitStep{2, 1, 4096, {32}, true},
                               SplitStep{2, 3, 4096, {run}, true}, ReorderStep{2, {3, 1, 4, 0, 2}}};
    if (ahead) {
      steps.push_back(PragmaStep{2, 0, "prefetch$1$12$1"});
    }
    return draft_cycles(bounded(initial, std::move(steps)), target);
  };
  CHECK(cycles(256, true) < cycles(256, false));
}

TEST_CASE("a block that is asked for ahead must fit beside the one in use") {
  const State initial = State::initial(dag_of("gemm:8x4096x4096:f32"));
  const auto share_ahead = [&](std::int64_t run) {
    const DraftParts parts = draft_parts(
        bounded(initial, {SplitStep{2, 1, 4096, {32}, true}, SplitStep{2, 3, 4096, {run}, true},
                          ReorderStep{2, {3, 1, 4, 0, 2}}, PragmaStep{2, 0, "prefetch_block$1$1"}}),
        *Target::from_name("znver5"));
    return parts.ahead / (parts.levels[0] + parts.levels[1] + parts.levels[2] + parts.levels[3] +
                          parts.levels[4]);
  };
  // Rows lie 16 KB apart: 1024 of them do not fit into L1's sets, nor into L2's.
  CHECK(share_ahead(1024) < 0.7 * share_ahead(4));
}

TEST_CASE("rows that lie nearly a cache's way apart drive each other out") {
  const auto cycles_of_l1 = [](const char* workload, std::int64_t rows) {
    const State initial = State::initial(dag_of(workload));
    return draft_parts(bounded(initial, {SplitStep{2, 0, 1000, {rows}, true},
                                         SplitStep{2, 2, 1040, {16}, true},
                                         ReorderStep{2, {2, 0, 4, 1, 3}}}),
                       *Target::from_name("znver4"))
        .levels[0];
  };
  // 25 rows 4100 bytes apart share three of 64 sets; 8 have room there, and 25 rows 4240 bytes
  // apart.
  const double near = cycles_of_l1("gemm:1000x1040x1025:f32", 25);
  CHECK(near > 4 * cycles_of_l1("gemm:1000x1040x1060:f32", 25));
  CHECK(near > 2 * cycles_of_l1("gemm:1000x1040x1025:f32", 8));
}

TEST_CASE("tiles that read the same block share the asking for the next one") {
  const State initial = State::initial(dag_of("gemm:128x768x3072:f32"));
  Target target = *Target::from_name("znver4");
  target.caches.l3_bytes = 32 << 20;
  const auto cycles = [&](bool is_shared, bool ahead) {  // i.0 inside or outside of k.0
    std::vector<Step> steps = {SplitStep{2, 0, 128, {8}, true}, SplitStep{2, 2, 768, {48}, true},
                               SplitStep{2, 4, 3072, {256}, true}};
    steps.push_back(is_shared ? ReorderStep{2, {2, 4, 0, 5, 1, 3}}
                              : ReorderStep{2, {2, 0, 4, 5, 1, 3}});
    if (ahead) {
      steps.push_back(PragmaStep{2, 0, "prefetch_block$1$1"});
    }
    return draft_cycles(bounded(initial, std::move(steps)), target);
  };
  CHECK(cycles(true, true) < cycles(true, false));
  CHECK(cycles(false, true) >= cycles(false, false));  // every tile would ask for all of it
}

TEST_CASE("the parts of a draft are those of its total") {
  const State initial = State::initial(dag_of("gemm:64x64x64:f32"));
  const DraftParts tile = draft_parts(tiled(initial, 8, 32), avx512());
  CHECK(tile.total == draft_cycles(tiled(initial, 8, 32), avx512()));
  CHECK(tile.core == tile.total);  // everything stays in L1
  const DraftParts large = draft_parts(bounded(State::initial(dag_of("gemm:512x512x512:f32")), {}),
                                       *Target::from_name("znver5"));
  double sum = large.core + large.tiles;
  for (const double level : large.levels) {
    CHECK(level <= large.total);
    sum += level;
  }
  CHECK(large.core <= large.total);
  CHECK(sum > large.total);
}

TEST_CASE("a result that leaves the caches anyway is better written past them") {
  Target target = *Target::from_name("znver5");
  target.caches.l3_bytes = 32 << 20;
  const auto cycles = [&](const char* workload, bool streams) {
    std::vector<Step> steps = {SplitStep{2, 1, 4096, {64}, true}, ReorderStep{2, {0, 1, 3, 2}}};
    if (streams) {
      steps.push_back(PragmaStep{2, 0, "stream_result"});
    }
    return draft_cycles(bounded(State::initial(dag_of(workload)), std::move(steps)), target);
  };
  CHECK(cycles("gemm:4096x4096x4:f32", true) < 0.8 * cycles("gemm:4096x4096x4:f32", false));
  CHECK(cycles("gemm:16x4096x4:f32", true) > cycles("gemm:16x4096x4:f32", false));
}

TEST_CASE("rows that share a vector are better computed several at a time") {
  const Target target = avx512();
  const auto cycles = [&](const char* workload, std::int32_t stage, std::int64_t rows) {
    return draft_cycles(bounded(State::initial(dag_of(workload)),
                                {PragmaStep{stage, 0, "row_block$" + std::to_string(rows)}}),
                        target);
  };
  CHECK(cycles("gemm:64x1x64:f32", 2, 4) < 0.95 * cycles("gemm:64x1x64:f32", 2, 1));
  CHECK(cycles("gemm:64x1x1024:f32", 2, 8) < cycles("gemm:64x1x1024:f32", 2, 1));
  CHECK(cycles("gemm:1x1x1024:f32", 2, 8) == cycles("gemm:1x1x1024:f32", 2, 1));
  // Columns of a product have their vectors along themselves.
  CHECK(cycles("gemm:64x64x64:f32", 2, 4) == cycles("gemm:64x64x64:f32", 2, 1));
}
