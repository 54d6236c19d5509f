// SPDX-License-Identifier: Apache-2.0
// A reduction around its register tile: initialize, update in all loops of the reduction, store.
//
// Floor 4. Part of emit.hpp.
#pragma once

#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith::detail {

/// The innermost run of reduction loops with its tile:
///     acc = first block ? identity : C ; for k: acc = combine(acc, ...) ; C = acc
/// or, without registers, the same on C itself.
inline StmtId Emitter::emit_reduction(Emission& e) {
  Nest& nest = e.nest;
  const auto tile = static_cast<std::size_t>(e.shape.reduction_end);
  bool in_registers = e.shape.is_promoted;
  for (const Constraint& c : nest.constraints) {
    if (!c.residual || c.residual->is_constant()) {
      continue;
    }
    for (const AffineTerm& term : c.form.terms) {
      in_registers = in_registers &&
                     deepest_leaf(program_.pool, nest, term.atom) < static_cast<std::int32_t>(tile);
    }
  }
  e.is_tile_indexed = false;
  const std::size_t num_outputs = e.op->outputs.size();
  const auto make = [&](const char* name, std::size_t k, Scope scope, bool is_scalar) {
    Buffer buffer;
    buffer.name = e.op->name + name + (num_outputs > 1 ? std::to_string(k) : "");
    buffer.dtype = state_.dag().tensor(e.op->outputs[k]).dtype;
    buffer.scope = scope;
    for (std::size_t i = tile; i < nest.num_leaves() && !is_scalar; ++i) {
      buffer.shape.push_back(nest.leaf_extent[i]);
    }
    if (is_scalar) {
      buffer.shape.push_back(1);
    }
    return program_.add(std::move(buffer));
  };
  for (std::size_t k = 0; k < num_outputs; ++k) {
    if (in_registers || e.lane_leaf >= 0) {
      const Scope scope = in_registers ? Scope::register_ : Scope::local;
      e.accumulators.push_back(make(".acc", k, scope, false));
    }
    if (num_outputs > 1) {
      e.temporaries.push_back(
          make(".new", k, in_registers ? Scope::register_ : Scope::local, !in_registers));
    }
  }
  make_offset_sums(e);
  std::vector<BufferId> allocated = e.accumulators;
  allocated.insert(allocated.end(), e.temporaries.begin(), e.temporaries.end());

  const ExprId first = is_first_block(e);
  const auto start = [&](bool from_memory) {
    e.mode = BodyMode::initialize;
    e.is_reading_partial = from_memory;
    if (e.lane_leaf < 0) {
      return emit_leaf(e, tile);
    }
    const auto saved = nest.constraints;
    for (Constraint& c : nest.constraints) {  // every lane has a value, also one without terms
      c.residual.reset();
    }
    const StmtId all = emit_leaf(e, tile);
    nest.constraints = saved;
    return all;
  };
  std::vector<StmtId> parts;
  const IntImm* known = program_.pool.as<IntImm>(first);
  if (known != nullptr && known->value != 0) {
    parts.push_back(start(false));
  } else {
    const StmtId fresh = start(false);
    const StmtId resumed = in_registers ? start(true) : StmtId{};
    parts.push_back(program_.add(If{first, fresh, resumed}));
  }
  emit_offset_tile(e, BodyMode::offset_zero, parts);
  e.mode = BodyMode::update;
  plan_padding(e);
  parts.push_back(emit_run(e, 0));
  emit_offset_tile(e, BodyMode::take_off, parts);
  e.padded.clear();
  e.holds.clear();
  cannot_finish_ = cannot_finish_ || (e.reader != nullptr && !in_registers);
  if (e.lane_leaf >= 0) {
    parts.push_back(emit_fold(e));
  } else if (in_registers) {
    parts.push_back(emit_write_back(e));
  }
  e.mode = BodyMode::compute;
  if (e.is_tile_indexed) {  // registers have no addresses
    for (BufferId buffer : allocated) {
      program_[buffer].scope = Scope::local;
    }
  }
  StmtId result = seq(std::move(parts));
  for (BufferId buffer : allocated) {
    result = program_.add(Alloc{buffer, result});
  }
  e.accumulators.clear();
  e.temporaries.clear();
  e.offset_sums = {};
  return result;
}

}  // namespace tensorsmith::detail
