// SPDX-License-Identifier: Apache-2.0
// Tensor intrinsics in tile registers: loads and stores around a run of products.
//
// Accumulators go into tiles in front of the outermost loop that does nothing but such products
// (and hints), and back to memory behind it. What fills a buffer of accumulators in front of the
// run, or copies it behind, becomes loads and stores of tiles as well where it is as plain as that:
//     for i: for j: acc = 0       tilezero
//     for k.0: for k.1 as ...:    tileload of a and b, products
//     for i: for j: C = acc       tilestore to C
#include <algorithm>
#include <cmath>
#include <utility>

#include "function_emitter.hpp"
#include "kernel_emitter.hpp"
#include "tile_emitter.hpp"

namespace tensorsmith::llvm_codegen {
namespace {

constexpr std::int64_t num_tiles = 8, tile_rows = 16, tile_row_bytes = 64;

bool is_literal(const IntImm* extent, std::int64_t value) {
  return extent != nullptr && extent->value == value;
}

/// All tiles are whole: 16 rows of 64 bytes.
LLVMValueRef tile_configuration(ModuleContext& m) {
  constexpr const char* name = "tile_configuration";
  if (const LLVMValueRef known = LLVMGetNamedGlobal(m.module, name)) {
    return known;
  }
  std::vector<LLVMValueRef> bytes(64, LLVMConstInt(m.i8, 0, 0));
  bytes[0] = LLVMConstInt(m.i8, 1, 0);  // the palette
  for (std::size_t t = 0; t < num_tiles; ++t) {
    bytes[16 + 2 * t] = LLVMConstInt(m.i8, tile_row_bytes, 0);
    bytes[48 + t] = LLVMConstInt(m.i8, tile_rows, 0);
  }
  const LLVMValueRef global = LLVMAddGlobal(m.module, LLVMArrayType2(m.i8, 64), name);
  LLVMSetInitializer(global, LLVMConstArray2(m.i8, bytes.data(), bytes.size()));
  LLVMSetGlobalConstant(global, 1);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  LLVMSetAlignment(global, 64);
  return global;
}

/// An intrinsic of LLVM, or a function of another object.
LLVMValueRef tile_function(ModuleContext& m, std::string_view name,
                           std::initializer_list<LLVMValueRef> arguments) {
  const std::string text(name);
  if (name.substr(0, 5) == "llvm.") {
    const unsigned id = LLVMLookupIntrinsicID(text.data(), text.size());
    if (id == 0) {
      give_up("LLVM has no intrinsic " + text);
    }
    return LLVMGetIntrinsicDeclaration(m.module, id, nullptr, 0);
  }
  if (const LLVMValueRef known = LLVMGetNamedFunction(m.module, text.c_str())) {
    return known;
  }
  std::vector<LLVMTypeRef> types;
  for (const LLVMValueRef argument : arguments) {
    types.push_back(LLVMTypeOf(argument));
  }
  return LLVMAddFunction(
      m.module, text.c_str(),
      LLVMFunctionType(m.void_type, types.data(), static_cast<unsigned>(types.size()), 0));
}

}  // namespace

void TileEmitter::call(std::string_view function, std::initializer_list<LLVMValueRef> arguments) {
  const LLVMValueRef callee = tile_function(m_, function, arguments);
  std::vector<LLVMValueRef> values(arguments);
  LLVMBuildCall2(b_.ref, LLVMGlobalGetValueType(callee), callee, values.data(),
                 static_cast<unsigned>(values.size()), "");
}

// At the start of the function and behind whatever may have left the tiles in another state; they
// are given back at its end.
void TileEmitter::configure() {
  if (user_ == nullptr) {
    return;
  }
  call(user_->tile.release, {});
  const LLVMBasicBlockRef end = b_.block();
  const LLVMValueRef configuration = tile_configuration(m_);
  const auto configure = [&](IrBuilder& b) {
    const LLVMValueRef callee = tile_function(m_, user_->tile.configure, {configuration});
    LLVMValueRef argument = configuration;
    LLVMBuildCall2(b.ref, LLVMGlobalGetValueType(callee), callee, &argument, 1, "");
  };
  configure(addresses_.at(0));
  for (const LLVMValueRef call : outside_calls_) {
    b_.before(LLVMGetNextInstruction(call));
    configure(b_);
  }
  b_.at_end(end);
}

// The product that the statement consists of, loops and hints aside; null if there is more.
const For* TileEmitter::group_of(StmtId id, std::vector<VarId>& loops) const {
  if (const Seq* seq = program_.as<Seq>(id)) {
    const auto is_hint = [&](StmtId item) { return program_.as<Prefetch>(item) != nullptr; };
    const auto work = std::find_if_not(seq->items.begin(), seq->items.end(), is_hint);
    return work != seq->items.end() && std::all_of(work + 1, seq->items.end(), is_hint)
               ? group_of(*work, loops)
               : nullptr;
  }
  const For* loop = program_.as<For>(id);
  if (loop == nullptr) {
    return nullptr;
  }
  if (loop->intrinsic != nullptr) {
    return loop->intrinsic->has_tiles() ? loop : nullptr;
  }
  loops.push_back(loop->var);
  return loop->kind == ForKind::serial || loop->kind == ForKind::unrolled
             ? group_of(loop->body, loops)
             : nullptr;
}

// Rows n < count along `row`: elements lie `group` apart along `lane`, and so many rows in turn
// take the places between them.
std::optional<TileEmitter::Rows> TileEmitter::rows_of(BufferId buffer, const ExprList& indices,
                                                      VarId row, std::int64_t count, VarId lane,
                                                      std::int64_t group) {
  if (program_[buffer].scope == Scope::register_) {
    return std::nullopt;
  }
  Rows rows{buffer, {}, 0};
  bool is_even = true;
  Strip strip;
  strip.var = lane;
  strip.lanes = strip.count = 2;
  function_.in_lanes(strip, [&] {
    for (std::int64_t n = 0; is_even && n < count; ++n) {
      state_.bind_constant(row, n);
      LinearForm at = values_.flat_form(buffer, indices);
      is_even = !at.is_lane_opaque && at.lane == group;
      if (n == 0) {
        rows.first = at;
        continue;
      }
      at.add(rows.first, -1);
      rows.stride = n == group ? at.constant : rows.stride;
      is_even = is_even && at.is_constant() && at.constant == n / group * rows.stride + n % group;
    }
  });
  bindings_[row.value] = Binding{};
  rows.first.lane = 0;
  return is_even ? std::optional(rows) : std::nullopt;
}

// Nothing if an operand lies in another way, or the loops fill no tiles.
std::optional<TileEmitter::Step> TileEmitter::step_of(const For& group) {
  const TensorIntrinsic& intrinsic = *group.intrinsic;
  const ExprPool& pool = program_.pool;
  const For* const rows = program_.as<For>(group.body);
  const For* const columns = rows == nullptr ? nullptr : program_.as<For>(rows->body);
  const Store* const store = columns == nullptr ? nullptr : program_.as<Store>(columns->body);
  if (store == nullptr || !is_literal(pool.as<IntImm>(group.extent), intrinsic.k)) {
    return std::nullopt;
  }
  const IntImm* const num_rows = pool.as<IntImm>(rows->extent);
  const IntImm* const num_columns = pool.as<IntImm>(columns->extent);
  const TensorUpdate update = match_tensor_update(program_, *store, intrinsic);
  const bool is_tile = intrinsic.m == tile_rows && intrinsic.n * 4 == tile_row_bytes &&
                       intrinsic.k * bytes_of(intrinsic.a) == tile_row_bytes &&
                       bytes_of(intrinsic.accumulator) == 4 && intrinsic.a_offset == 0;
  if (!is_tile || !update || num_rows == nullptr || num_columns == nullptr ||
      num_rows->value % intrinsic.m != 0 || num_columns->value % intrinsic.n != 0) {
    return std::nullopt;
  }
  const auto is_fixed = [&](const ExprList& indices, VarId var) {
    return std::none_of(indices.begin(), indices.end(),
                        [&](ExprId index) { return facts_.uses(index, var); });
  };
  Step step{&intrinsic, num_rows->value / intrinsic.m, num_columns->value / intrinsic.n, {}, {},
            {}};
  const Load &a = *update.a.load, &b = *update.b.load;
  if (!fits_tile_registers(step.num_rows, step.num_columns) ||
      !is_fixed(store->indices, group.var) || !is_fixed(a.indices, columns->var) ||
      !is_fixed(b.indices, rows->var) || a.buffer == store->buffer || b.buffer == store->buffer) {
    return std::nullopt;
  }
  const auto of_sum =
      rows_of(store->buffer, store->indices, rows->var, num_rows->value, columns->var, 1);
  const auto of_a = !of_sum
                        ? std::nullopt
                        : rows_of(a.buffer, a.indices, rows->var, num_rows->value, group.var, 1);
  const auto of_b =
      !of_a ? std::nullopt
            : rows_of(b.buffer, b.indices, group.var, intrinsic.k, columns->var, intrinsic.group());
  if (!of_b) {
    return std::nullopt;
  }
  step.accumulators = *of_sum;
  step.a = *of_a;
  step.b = *of_b;
  return step;
}

// The accumulators must stay where they are during the run. Operands are looked at for its first
// step only; a later one that lies in another way is computed by its loops.
std::optional<TileEmitter::Step> TileEmitter::run_of(const For& loop) {
  std::vector<VarId> loops;
  if (function_.is_in_lanes()) {
    return std::nullopt;
  }
  const For* group = &loop;
  if (loop.intrinsic == nullptr && loop.kind == ForKind::serial) {
    loops.push_back(loop.var);
    group = group_of(loop.body, loops);
  }
  if (group == nullptr || group->intrinsic == nullptr || !group->intrinsic->has_tiles()) {
    return std::nullopt;
  }
  for (VarId var : loops) {
    state_.bind_constant(var, 0);
  }
  memo_.clear();
  std::optional<Step> run = step_of(*group);
  if (run) {
    const StmtFacts& facts = facts_.of(group->body);
    const ExprList& place =
        program_.as<Store>(program_.as<For>(program_.as<For>(group->body)->body)->body)->indices;
    for (VarId var : loops) {
      run = run && std::none_of(place.begin(), place.end(),
                                [&](ExprId index) { return facts_.uses(index, var); })
                ? run
                : std::nullopt;
    }
    run = facts.stored.size() == 1 ? run : std::nullopt;
  }
  for (VarId var : loops) {
    bindings_[var.value] = Binding{};
  }
  memo_.clear();
  return run;
}

LLVMValueRef TileEmitter::address(const Rows& rows, std::int64_t offset) {
  LinearForm at = rows.first;
  at.constant += offset;
  return memory_.pointer_to(rows.buffer, at);
}

// Accumulators are tiles 0, 1, ... in the order of their rows.
void TileEmitter::each_accumulator(const Step& run, const Rows& rows, std::string_view function) {
  const TensorIntrinsic& x = *run.intrinsic;
  user_ = &x;
  for (std::int64_t r = 0; r < run.num_rows; ++r) {
    for (std::int64_t c = 0; c < run.num_columns; ++c) {
      const LLVMValueRef tile =
          LLVMConstInt(m_.i8, static_cast<std::uint64_t>(r * run.num_columns + c), 0);
      if (function == x.tile.zero) {
        call(function, {tile});
        continue;
      }
      call(function, {tile, address(rows, r * x.m * rows.stride + c * x.n),
                      m_.const_i64(rows.stride * bytes_of(x.accumulator))});
    }
  }
  if (function == x.tile.store) {
    memory_.forget_loads(rows.buffer);
  }
}

bool TileEmitter::emit_run(const For& loop) {
  if (run_ != nullptr) {
    if (loop.intrinsic == nullptr) {
      return false;
    }
    emit_step(loop);
    return true;
  }
  const std::optional<Step> run = run_of(loop);
  if (!run) {
    return false;
  }
  each_accumulator(*run, run->accumulators, run->intrinsic->tile.load);
  emit_in_tiles(loop, *run);
  each_accumulator(*run, run->accumulators, run->intrinsic->tile.store);
  return true;
}

void TileEmitter::emit_in_tiles(const For& loop, const Step& run) {
  run_ = &run;
  function_.emit_loop(loop);
  run_ = nullptr;
}

// The operand of the shorter side stays in tiles while the tiles of the other one pass.
void TileEmitter::emit_step(const For& group) {
  const std::optional<Step> step = step_of(group);
  if (!step) {
    const Step* const run = std::exchange(run_, nullptr);
    each_accumulator(*run, run->accumulators, run->intrinsic->tile.store);
    function_.emit_loop(group);
    each_accumulator(*run, run->accumulators, run->intrinsic->tile.load);
    run_ = run;
    return;
  }
  const TensorIntrinsic& x = *step->intrinsic;
  const auto number = [&](std::int64_t tile) {
    return LLVMConstInt(m_.i8, static_cast<std::uint64_t>(tile), 0);
  };
  const auto load = [&](const Rows& rows, std::int64_t offset, std::int64_t tile) {
    call(x.tile.load, {number(tile), address(rows, offset),
                       m_.const_i64(rows.stride * bytes_of(program_[rows.buffer].dtype))});
  };
  const bool holds_a = step->num_rows < step->num_columns;
  const std::int64_t num_held = holds_a ? step->num_rows : step->num_columns;
  const std::int64_t num_passing = holds_a ? step->num_columns : step->num_rows;
  const std::int64_t first_held = step->num_rows * step->num_columns;
  const std::int64_t first_passing = first_held + num_held;
  const auto load_part = [&](bool is_a, std::int64_t part, std::int64_t tile) {
    is_a ? load(step->a, part * x.m * step->a.stride, tile)
         : load(step->b, part * x.n * x.group(), tile);
  };
  for (std::int64_t held = 0; held < num_held; ++held) {
    load_part(holds_a, held, first_held + held);
  }
  for (std::int64_t passing = 0; passing < num_passing; ++passing) {
    const std::int64_t tile = first_passing + passing % (num_tiles - first_passing);
    load_part(!holds_a, passing, tile);
    for (std::int64_t held = 0; held < num_held; ++held) {
      const std::int64_t sum =
          holds_a ? held * step->num_columns + passing : passing * step->num_columns + held;
      call(x.tile.dot, {number(sum), number(holds_a ? first_held + held : tile),
                        number(holds_a ? tile : first_held + held)});
      kernel_.count_statement();
    }
  }
}

// for i: for j: accumulator = element, or element = accumulator. Where the element lies; the
// accumulators themselves where they become zero.
std::optional<TileEmitter::Rows> TileEmitter::copy_of(StmtId nest, const Step& run, bool is_start) {
  const For* const rows = program_.as<For>(nest);
  const For* const columns = rows == nullptr ? nullptr : program_.as<For>(rows->body);
  const Store* const store = columns == nullptr ? nullptr : program_.as<Store>(columns->body);
  const std::int64_t num_rows = run.num_rows * run.intrinsic->m;
  const ExprPool& pool = program_.pool;
  if (store == nullptr || !is_literal(pool.as<IntImm>(rows->extent), num_rows) ||
      !is_literal(pool.as<IntImm>(columns->extent), run.num_columns * run.intrinsic->n)) {
    return std::nullopt;
  }
  const BufferId accumulators = run.accumulators.buffer;
  const Load* const load = pool.as<Load>(store->value);
  const FloatImm* const real = pool.as<FloatImm>(store->value);
  const bool is_zero = is_literal(pool.as<IntImm>(store->value), 0) ||
                       (real != nullptr && real->value == 0 && !std::signbit(real->value));
  if (load == nullptr ? !(is_start && is_zero)
                      : (is_start ? load->buffer : store->buffer) == accumulators ||
                            program_[load->buffer].dtype != program_[store->buffer].dtype) {
    return std::nullopt;
  }
  const auto place = [&](BufferId buffer, const ExprList& indices) {
    return rows_of(buffer, indices, rows->var, num_rows, columns->var, 1);
  };
  const auto stored = place(store->buffer, store->indices);
  const auto loaded = load == nullptr ? stored : place(load->buffer, load->indices);
  const auto& own = is_start ? stored : loaded;
  const bool is_own = own && own->buffer == accumulators && own->first == run.accumulators.first &&
                      own->stride == run.accumulators.stride;
  return is_own ? (is_start ? loaded : stored) : std::nullopt;
}

bool TileEmitter::is_start_of_run(StmtId start, const Step& run) {
  if (const If* branch = program_.as<If>(start)) {
    return branch->else_body.valid() && is_start_of_run(branch->then_body, run) &&
           is_start_of_run(branch->else_body, run);
  }
  return copy_of(start, run, true).has_value();
}

void TileEmitter::emit_start(StmtId start, const Step& run) {
  kernel_.count_statement();
  if (const If* branch = program_.as<If>(start)) {
    memo_.clear();
    const LLVMValueRef condition = values_.eval_condition(branch->condition);
    const int known = constant_bool(condition);
    const auto then_body = [&] { emit_start(branch->then_body, run); };
    const auto else_body = [&] { emit_start(branch->else_body, run); };
    known == 1   ? then_body()
    : known == 0 ? else_body()
                 : function_.emit_branch(condition, then_body, else_body);
    return;
  }
  const std::optional<Rows> rows = copy_of(start, run, true);
  const TileFunctions& tile = run.intrinsic->tile;
  each_accumulator(run, *rows, rows->buffer == run.accumulators.buffer ? tile.zero : tile.load);
}

// A buffer of accumulators with a run that covers it: what is in front of the run and behind it
// need not go through the buffer.
bool TileEmitter::emit_body(const Alloc& alloc) {
  const Seq* const body = program_.as<Seq>(alloc.body);
  for (std::size_t n = 1; body != nullptr && n < body->items.size(); ++n) {
    const For* const loop = program_.as<For>(body->items[n]);
    const std::optional<Step> run = loop == nullptr ? std::nullopt : run_of(*loop);
    if (!run || run->accumulators.buffer != alloc.buffer ||
        run->num_rows * run->intrinsic->m * run->num_columns * run->intrinsic->n !=
            program_[alloc.buffer].num_elements() ||
        !is_start_of_run(body->items[n - 1], *run)) {
      continue;
    }
    for (std::size_t i = 0; i + 1 < n; ++i) {
      function_.emit(body->items[i]);
    }
    emit_start(body->items[n - 1], *run);
    emit_in_tiles(*loop, *run);
    const bool is_end_next = n + 2 == body->items.size();
    const auto end = is_end_next ? copy_of(body->items[n + 1], *run, false) : std::nullopt;
    each_accumulator(*run, end ? *end : run->accumulators, run->intrinsic->tile.store);
    for (std::size_t i = end ? n + 2 : n + 1; i < body->items.size(); ++i) {
      function_.emit(body->items[i]);
    }
    return true;
  }
  return false;
}

}  // namespace tensorsmith::llvm_codegen
