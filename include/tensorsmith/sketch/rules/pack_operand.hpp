// SPDX-License-Identifier: Apache-2.0
// PackOperand: a tiled stage reads a copy of an operand that lies in memory as its tile reads it.
//
// Floor 5. Own design (what all libraries do for matrix products; Ansor and MetaSchedule have no
// cache reads on CPUs). Legal for an input and each of its readers that is multi-level tiled and
// reads one element per iteration, each index an axis, forwards or backwards (a constant - an
// axis); of a reader that reads two elements, one of which the vector loop shares, the copy is of
// the other one alone (sched/apply/lanes.hpp). Every such reader has a copy of its own. Worth it if
// many iterations read an element, and if the vector loop would gather, a tensor intrinsic takes
// elements of several rows at once, the rows collide in the first cache, or the operand is too
// large for the caches next to the core; always for a constant, which is packed once, before the
// first call.
// Where the reader converts elements of 8 or 16 bits and no instruction takes them as they are, the
// copy may hold them converted (sched/apply/widened.hpp): an operand that all lanes share always
// does, one that runs along the lanes in a sketch of its own.
//     C[i, j] += A[i, k] * B[j, k]  -->  B.packed[j, k] = B[j, k];  C[i, j] += A[i, k] *
//     B.packed[j, k]
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/lower/tensor_operands.hpp"
#include "tensorsmith/sched/prepared.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/packs.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

struct PackOperand {
  static constexpr std::string_view name() { return "pack_operand"; }

  Applicability applicability(const RuleInput& input) const {
    const bool applies =
        input.analysis.stage(static_cast<std::uint32_t>(input.stage)).is_placeholder &&
        !copies_of(input).empty();
    return applies ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    std::vector<Derivation> derived;
    for (State& state : with_copies(input)) {
      derived.push_back(Derivation{std::move(state), input.stage - 1});
    }
    return derived;
  }

 protected:
  /// What copies of the stage a reader may have.
  struct Copies {
    std::int32_t reader;
    std::vector<std::string_view> scopes;
  };

  /// Of every reader that gains by one.
  static std::vector<Copies> copies_of(const RuleInput& input) {
    std::vector<Copies> copies;
    for (const auto& read : input.analysis.stage(static_cast<std::uint32_t>(input.stage)).read_by) {
      const auto reader = static_cast<std::int32_t>(read.stage);
      if (is_tile_reader(input, reader)) {
        std::vector<std::string_view> found = scopes_of_reads(input, reader, read.reads);
        if (!found.empty()) {
          copies.push_back(Copies{reader, std::move(found)});
        }
      }
    }
    return copies;
  }

  /// The states in which all of those readers have one.
  static std::vector<State> with_copies(const RuleInput& input) {
    std::vector<State> states{input.state};
    std::int32_t before = 0;  // copies in front of the reader
    for (const Copies& copies : copies_of(input)) {
      std::vector<State> grown;
      for (const State& state : states) {
        for (std::string_view scope : copies.scopes) {
          grown.push_back(state);
          grow(grown.back(),
               CacheReadStep{input.stage, std::string(scope), {copies.reader + before}});
        }
      }
      states = std::move(grown);
      ++before;
    }
    return states;
  }

 private:
  static bool is_tile_reader(const RuleInput& input, std::int32_t reader) {
    const auto id = static_cast<std::size_t>(reader);
    const auto& iterators = input.state.stage(id).iterators;
    return needs_tiling(input.analysis, reader) && is_tiled(input.state, reader) &&
           !input.state.stage(id).hints.has<hints::VectorizeSum>() &&
           has_non_spatial_iterator(input.state, reader) && !iterators.empty() &&
           iterators.back().kind == IteratorKind::spatial;
  }

  static std::vector<std::string_view> scopes_of_reads(const RuleInput& input, std::int32_t reader,
                                                       const std::vector<ExprList>& reads) {
    const auto is_first = [&](const ExprList& indices) { return indices == reads.front(); };
    if (all_items(reads, is_first)) {
      return scopes(input, reader, reads.front());
    }
    const ExprList* along_lanes = detail::only_read_along_lanes(
        input.state.dag().pool(), input.state.operation(static_cast<std::size_t>(reader)), reads);
    if (along_lanes != nullptr && has_item(scopes(input, reader, *along_lanes), packed_scope)) {
      return {lanes_scope};
    }
    return {};
  }

  /// A copy costs about as much as this many uses of an element.
  static constexpr std::int64_t least_uses = 8;
  /// Rows a multiple of this apart share a set of the first cache, which keeps 8 to 12 lines. A
  /// tile reads vectors from as many rows as a run of the sum is long, so half of it is too little
  /// there.
  static constexpr std::int64_t same_set_bytes = 4096, least_rows = 8;

  /// The axis that the index runs along, a step per element; nullptr = another index.
  static const VarRef* axis_of(const ExprPool& pool, ExprId index) {
    const Binary* mirrored = pool.as<Binary>(index);
    const bool is_mirrored = mirrored != nullptr && mirrored->op == BinaryOp::sub &&
                             pool.as<IntImm>(mirrored->a) != nullptr;
    return pool.as<VarRef>(is_mirrored ? mirrored->b : index);
  }

  /// Whether the reader converts what it reads to a type of which a copy may be made: floats to
  /// f32, and bytes to what some instruction takes. Not if one takes the elements as they are.
  static bool is_converted(const RuleInput& input, const Operation& reader, TensorId tensor) {
    const ExprPool& pool = input.state.dag().pool();
    const DType own = input.state.dag().tensor(tensor).dtype, wide = wide_type(own);
    bool has_cast = false, is_taken = false, is_wanted = is_float(own);
    for (ExprId body : reader.bodies) {
      visit_expr(pool, body, [&](ExprId id) {
        const Cast* cast = pool.as<Cast>(id);
        const TensorRead* read = cast != nullptr ? pool.as<TensorRead>(cast->a) : nullptr;
        has_cast = has_cast || (read != nullptr && read->tensor == tensor);
      });
    }
    for (const TensorIntrinsic* intrinsic : input.options.intrinsics) {
      if (!reader.axes.empty() &&
          tensor_operands(pool, reader, *intrinsic, reader.axes.back().var).has_value()) {
        is_taken = is_taken || intrinsic->a == own || intrinsic->b == own;
        is_wanted = is_wanted || (intrinsic->widens && intrinsic->a == wide);
      }
    }
    return has_cast && wide != own && is_wanted && !is_taken;
  }

  /// Those of the copies that are worth it.
  static std::vector<std::string_view> scopes(const RuleInput& input, std::int32_t reader,
                                              const ExprList& indices) {
    const ExprPool& pool = input.state.dag().pool();
    const Operation& op = input.state.operation(static_cast<std::size_t>(reader));
    const TensorInfo& tensor = input.state.dag().tensor(
        input.state.operation(static_cast<std::size_t>(input.stage)).outputs[0]);
    const std::vector<std::string> vector_axes =
        original_names(input.state.stage(static_cast<std::size_t>(reader)).iterators.back().name);
    std::int64_t elements = 1, uses = 1;
    bool is_gathered = false, has_tile_axis = false, has_vectors = false;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (axis_of(pool, indices[d]) == nullptr) {
        return {};
      }
      elements *= tensor.shape[d];
    }
    for (const Axis& axis : op.axes) {
      const bool is_vector = has_item(vector_axes, clean_name(pool.var_name(axis.var)));
      bool is_used = false;
      for (std::size_t d = 0; d < indices.size(); ++d) {
        if (axis_of(pool, indices[d])->var == axis.var) {
          is_used = true;
          is_gathered = is_gathered || (is_vector && d + 1 != indices.size());
          has_vectors = has_vectors || is_vector;
        }
      }
      uses *= is_used ? 1 : axis.extent;
      has_tile_axis = has_tile_axis || (is_used && axis.extent > 1);
    }
    for (const TensorIntrinsic* intrinsic : input.options.intrinsics) {  // takes groups along a sum
      const bool is_grouped =
          !op.reduce_axes.empty() && uses_var(pool, indices.back(), op.reduce_axes.back().var);
      is_gathered =
          is_gathered || (!is_grouped && !op.axes.empty() &&
                          tensor_operands(pool, op, *intrinsic, op.axes.back().var).has_value());
    }
    const std::int64_t bytes = elements * bytes_of(tensor.dtype);
    const bool is_constant = prepared_stages(input.state)[static_cast<std::size_t>(input.stage)];
    const std::int64_t row_bytes = tensor.shape.back() * bytes_of(tensor.dtype);
    const bool collides = row_bytes % (has_vectors ? same_set_bytes / 2 : same_set_bytes) == 0 &&
                          bytes / row_bytes >= least_rows;
    const bool is_worth_a_copy =
        is_constant ||
        (uses >= least_uses && (is_gathered || collides || bytes > input.options.core_cache_bytes));
    const bool is_widened =
        (is_constant || uses >= least_uses) &&
        is_converted(input, op,
                     input.state.operation(static_cast<std::size_t>(input.stage)).outputs[0]);
    std::vector<std::string_view> found;
    if (has_tile_axis && is_worth_a_copy && (has_vectors || !is_widened)) {
      found.push_back(packed_scope);
    }
    if (has_tile_axis && is_widened) {
      found.push_back(widened_scope);
    }
    return found;
  }
};

}  // namespace tensorsmith
