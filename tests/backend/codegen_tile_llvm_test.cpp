// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Tile registers: what is loaded and stored around a run of products, on tiles in software; and the
// instructions for a processor that has them.
#include <cmath>

#include "codegen_fixture.hpp"
#include "support/emulated_tiles.hpp"
#include "tensorsmith/ir/verify.hpp"
#include "tensorsmith/measure/tolerance.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

enum class Start { zero, memory, either };  ///< what accumulators begin with
enum class End { copy, change };            ///< what becomes of them
enum class Around { nothing, parallel };    ///< the tiles of rows

struct TileProduct {
  const TensorIntrinsic* intrinsic = &emulated_tdpbf16ps;
  std::int64_t rows = 32, columns = 32, steps = 3;
  std::int64_t tiles = 1;  ///< blocks of so many rows, one after the other
  Start start = Start::zero;
  End end = End::copy;
  Around around = Around::nothing;
  bool b_has_groups = true, a_has_rows = true;
  bool has_more = false;     ///< accumulators are read by another statement in the loop
  std::int64_t skipped = 0;  ///< of the sum, behind each step
};

/// C[t*rows + i, j] = start + sum over s, g of A[t*rows + i, s, g] * B[s, g, j], accumulators in a
/// buffer.
LoopProgram tile_program(const TileProduct& d) {
  const TensorIntrinsic& x = *d.intrinsic;
  Maker m;
  ExprPool& p = m.pool();
  using Shape = std::vector<std::int64_t>;
  const std::int64_t depth = d.steps * (x.k + d.skipped), group = x.group(),
                     all_rows = d.tiles * d.rows;
  const BufferId a =
      m.argument("A", x.a, d.a_has_rows ? Shape{all_rows, depth} : Shape{depth, all_rows});
  const BufferId b =
      m.argument("B", x.b,
                 d.b_has_groups ? Shape{(depth + group - 1) / group, d.columns, group}
                                : Shape{depth, d.columns});
  const BufferId c = m.argument("C", x.accumulator, {all_rows, d.columns});
  const BufferId seen = m.argument("seen", x.accumulator, {d.steps});
  const BufferId acc = m.buffer("acc", x.accumulator, {d.rows, d.columns}, Scope::local);
  const VarId t = m.var("t"), s = m.var("s"), g = m.var("g");
  const auto row = [&](ExprId i) { return p.add(p.mul(m.v(t), m.i(d.rows)), i); };
  const auto nest = [&](const auto& body) {
    const VarId i = m.var("i"), j = m.var("j");
    return m.loop(i, d.rows, ForKind::serial,
                  m.loop(j, d.columns, ForKind::vectorized, body(m.v(i), m.v(j))));
  };
  const ExprId zero = is_float(x.accumulator) ? m.f(0) : p.int_imm(0, x.accumulator);
  const StmtId fresh = nest([&](ExprId i, ExprId j) { return m.store(acc, {i, j}, zero); });
  const StmtId resumed = nest([&](ExprId i, ExprId j) {
    return m.store(acc, {i, j}, m.load(c, {row(i), j}));
  });
  const StmtId first = d.start == Start::zero     ? fresh
                       : d.start == Start::memory ? resumed
                                                  : m.branch(p.lt(m.v(t), m.i(1)), fresh, resumed);
  const StmtId update = nest([&](ExprId i, ExprId j) {
    const ExprId k = p.add(p.mul(m.v(s), m.i(x.k + d.skipped)), m.v(g));
    const ExprId left = m.load(a, d.a_has_rows ? ExprList{row(i), k} : ExprList{k, row(i)});
    const ExprId right =
        m.load(b, d.b_has_groups ? ExprList{p.floordiv(k, m.i(group)), j, p.floormod(k, m.i(group))}
                                 : ExprList{k, j});
    return m.store(acc, {i, j},
                   p.add(m.load(acc, {i, j}),
                         p.mul(p.cast(x.accumulator, left), p.cast(x.accumulator, right))));
  });
  StmtId step = m.p.add(Stmt(For{g, m.i(x.k), ForKind::serial, update, d.intrinsic}));
  if (d.has_more) {
    step = m.seq({step, m.store(seen, {m.v(s)}, m.load(acc, {m.i(0), m.i(0)}))});
  }
  const StmtId last = nest([&](ExprId i, ExprId j) {
    const ExprId sum = m.load(acc, {i, j});
    return m.store(c, {row(i), j}, d.end == End::copy ? sum : p.add(sum, sum));
  });
  const StmtId body = m.alloc(acc, m.seq({first, m.loop(s, d.steps, ForKind::serial, step), last}));
  m.p.body =
      m.loop(t, d.tiles, d.around == Around::parallel ? ForKind::parallel : ForKind::serial, body);
  return std::move(m.p);
}

/// What a run of the program counts, after it gave what the interpreter gives.
TileCounts counts_of(const TileProduct& d, int num_threads = 1) {
  const LoopProgram program = tile_program(d);
  CHECK(is_valid(verify(program)));
  CounterRng rng(seed(), 90);
  const std::vector<HostArray> arrays = make_arrays(program, rng, true);
  reset_tile_counts();
  CHECK(difference(program, arrays, host_target(), num_threads) == "");
  return tile_counts();
}

std::size_t count_in(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

constexpr std::int64_t runs = 2;  // with the runtime and without it

}  // namespace

TEST_CASE("tiles compute what their loops do, in every block that fits the registers") {
  for (const TensorIntrinsic* intrinsic : emulated_tiles) {
    for (std::int64_t rows = 1; rows <= 6; ++rows) {
      for (std::int64_t columns = 1; columns <= 6; ++columns) {
        INFO(intrinsic->name << ", " << rows << " x " << columns << " tiles");
        TileProduct d;
        d.intrinsic = intrinsic;
        d.rows = 16 * rows;
        d.columns = 16 * columns;
        const TileCounts counts = counts_of(d);
        const bool fits = fits_tile_registers(rows, columns);
        CHECK(fits == (rows * columns <= 4 || rows == 1 || columns == 1));
        CHECK(counts.fault == 0);
        CHECK(counts.dot == (fits ? runs * d.steps * rows * columns : 0));
        CHECK(counts.load == (fits ? runs * d.steps * (rows + columns) : 0));
        CHECK(counts.zero == (fits ? runs * rows * columns : 0));
        CHECK(counts.store == counts.zero);
        CHECK(counts.configure == (fits ? runs : 0));
        CHECK(counts.release == counts.configure);
      }
    }
  }
}

TEST_CASE("accumulators come from memory and go there where they must") {
  const auto tiles_of = [](Start start, End end) {
    TileProduct d;
    d.tiles = 3;
    d.start = start;
    d.end = end;
    const TileCounts counts = counts_of(d);
    CHECK(counts.fault == 0);
    CHECK(counts.dot == runs * 3 * 3 * 4);
    CHECK(counts.store == runs * 3 * 4);
    CHECK(counts.configure == runs);
    const std::int64_t of_operands = runs * 3 * 3 * 4;
    return std::pair(counts.zero / runs / 4, (counts.load - of_operands) / runs / 4);
  };
  CHECK(tiles_of(Start::zero, End::copy) == std::pair<std::int64_t, std::int64_t>(3, 0));
  CHECK(tiles_of(Start::zero, End::change) == std::pair<std::int64_t, std::int64_t>(3, 0));
  CHECK(tiles_of(Start::memory, End::copy) == std::pair<std::int64_t, std::int64_t>(0, 3));
  CHECK(tiles_of(Start::either, End::change) == std::pair<std::int64_t, std::int64_t>(1, 2));
}

TEST_CASE("a loop that reads accumulators gets them from memory in every step") {
  TileProduct d;
  d.has_more = true;
  const TileCounts counts = counts_of(d);
  CHECK(counts.fault == 0);
  CHECK(counts.dot == runs * 3 * 4);
  CHECK(counts.store == runs * 3 * 4);
  CHECK(counts.load == runs * 3 * (4 + 4));
}

TEST_CASE("every thread configures its tiles and gives them back") {
  TileProduct d;
  d.tiles = 8;
  d.around = Around::parallel;
  const TileCounts counts = counts_of(d, 2);
  CHECK(counts.fault == 0);
  CHECK(counts.dot == runs * 8 * 3 * 4);
  CHECK(counts.configure == counts.release);
  CHECK(counts.configure >= runs);
  CHECK(counts.configure <= 1 + 8);  // at most once per range of iterations
}

TEST_CASE("operands that lie in another way are computed by the loops") {
  for (const TensorIntrinsic* intrinsic : emulated_tiles) {
    for (const bool is_a : {false, true}) {
      TileProduct d;
      d.intrinsic = intrinsic;
      (is_a ? d.a_has_rows : d.b_has_groups) = false;
      CHECK(counts_of(d) == TileCounts{});
    }
  }
}

TEST_CASE(
    "operands that lie in another way in later steps: accumulators leave the tiles for them") {
  TileProduct d;
  d.skipped = 1;  // the second step begins in the middle of a group
  const TileCounts counts = counts_of(d);
  CHECK(counts.fault == 0);
  CHECK(counts.dot == 0);
  CHECK(counts.zero == runs * 4);
  CHECK(counts.store == runs * 4 * (3 + 1));
}

TEST_CASE("extreme bytes and sums that wrap in tiles") {
  for (const TensorIntrinsic* intrinsic : {&emulated_tdpbssd, &emulated_tdpbusd}) {
    TileProduct d;
    d.intrinsic = intrinsic;
    d.start = Start::memory;
    const LoopProgram program = tile_program(d);
    CounterRng rng(seed(), 91);
    std::vector<HostArray> arrays = make_arrays(program, rng, true);
    for (std::size_t n = 0; n < 3; ++n) {
      for (std::int64_t e = 0; e < arrays[n].num_elements(); ++e) {
        const IntegerLimits limits = limits_of(arrays[n].dtype);
        arrays[n].set_int(e, rng.next_below(2) == 0 ? limits.low : limits.high);
      }
    }
    CHECK(difference(program, arrays, host_target()) == "");
  }
}

TEST_CASE("sums of bf16 in tiles keep the bound of a sum in f32") {
  TileProduct d;
  d.steps = 12;
  const LoopProgram program = tile_program(d);
  CounterRng rng(seed(), 92);
  const std::vector<HostArray> arrays = make_arrays(program, rng);
  std::vector<HostArray> want = arrays;
  REQUIRE(eval(program, want));
  const auto got = run_compiled(program, arrays, host_target());
  REQUIRE(got);
  const OutputTolerance bound = tolerance_for(DType::f32, DType::f32, d.steps * 32);
  double squares = 0;
  for (std::int64_t n = 0; n < want[2].num_elements(); ++n) {
    squares += want[2].get_real(n) * want[2].get_real(n);
  }
  const double rms = std::sqrt(squares / static_cast<double>(want[2].num_elements()));
  for (std::int64_t n = 0; n < want[2].num_elements(); ++n) {
    const double exact = want[2].get_real(n);
    CHECK(std::fabs((*got)[2].get_real(n) - exact) <=
          bound.absolute + bound.relative * std::fabs(exact) + bound.of_rms * rms);
  }
}

TEST_CASE("a level with the features of tiles has their instructions") {  // as a host is described
  Target target = Target::x86_64_v4();
  target.llvm_features += ",+amx-tile,+amx-bf16,+amx-int8,+amx-fp16";
  for (const TensorIntrinsic* intrinsic : {&tdpbf16ps, &tdpfp16ps, &tdpbssd, &tdpbusd}) {
    CHECK(intrinsic->is_available(target));
    CHECK_FALSE(intrinsic->is_available(Target::x86_64_v4()));
    TileProduct d;
    d.intrinsic = intrinsic;
    LlvmCompiler compiler(target);
    const auto text = compiler.assembly(tile_program(d), "kernel");
    REQUIRE(text);
    CHECK(count_in(*text, "\t" + std::string(intrinsic->name) + "\t") == 4);
  }
}

TEST_CASE("instructions for a processor with tiles: none but loads and products in the loop") {
  for (const auto& [intrinsic, name] :
       {std::pair(&tdpbf16ps, "\ttdpbf16ps\t"), std::pair(&tdpbssd, "\ttdpbssd\t"),
        std::pair(&tdpbusd, "\ttdpbusd\t")}) {
    TileProduct d;
    d.intrinsic = intrinsic;
    d.steps = 100;
    d.tiles = 5;
    LlvmOptions options;
    options.is_serial = true;  // one function
    options.verify_module = true;
    LlvmCompiler compiler(*Target::from_name("sapphirerapids"), options);
    const auto text = compiler.assembly(tile_program(d), "kernel");
    REQUIRE(text);
    CHECK(count_in(*text, name) == 4);
    CHECK(count_in(*text, "\ttileloadd\t") == 4);
    CHECK(count_in(*text, "\ttilezero\t") == 4);
    CHECK(count_in(*text, "\ttilestored\t") == 4);
    CHECK(count_in(*text, "\tldtilecfg\t") == 1);
    CHECK(count_in(*text, "\ttilerelease\n") == 1);
    // The loop: from the label that its branch goes to until the branch behind the last product.
    const std::size_t last_product = text->rfind(name);
    const std::size_t branch = text->find("\tj", last_product);
    REQUIRE(branch != std::string::npos);
    const std::size_t label = text->find(".L", branch);
    const std::string target = text->substr(label, text->find('\n', label) - label);
    const std::size_t begin = text->find("\n" + target + ":");
    REQUIRE(begin != std::string::npos);
    const std::string loop = text->substr(begin, branch - begin);
    CHECK(count_in(loop, name) == 4);
    CHECK(count_in(loop, "\ttileloadd\t") == 4);
    CHECK(count_in(loop, "\ttilestored\t") == 0);
    CHECK(count_in(loop, "\ttilezero\t") == 0);
    CHECK(count_in(loop, "tilecfg") == 0);
  }
}
