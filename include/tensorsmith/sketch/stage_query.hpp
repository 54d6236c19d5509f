// SPDX-License-Identifier: Apache-2.0
// Questions about a stage of a state that sketch rules and mutations ask.
//
// Floor 5. Ansor reference, ch. 1.2 (queries that look through inlined stages), 4.2, 4.3.
// Not here: facts of the dag alone (te/access_analysis.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/te/access_analysis.hpp"
#include "tensorsmith/te/tensor_size.hpp"

namespace tensorsmith {

/// Readers of the stage in ascending order; an inlined reader is replaced by its own readers.
inline std::vector<std::int32_t> consumers(const State& state, const AccessAnalysis& analysis,
                                           std::int32_t stage) {
  const auto found =
      analysis.consumers(static_cast<std::uint32_t>(stage), [&](std::uint32_t reader) {
        return state.stage(reader).compute_at == ComputeAt::inlined;
      });
  return {found.begin(), found.end()};
}

/// Enough data reuse for multi-level tiling (Ansor reference, ch. 1.2).
inline bool needs_tiling(const AccessAnalysis& analysis, std::int32_t stage) {
  return analysis.needs_multi_level_tiling(static_cast<std::uint32_t>(stage));
}

/// The one stage under which a reader of `stage` lives: the reader itself if there is one; with
/// several readers the root stage that all of them stand in, if it is the same.
inline std::optional<std::int32_t>
single_consumer(const State& state, const AccessAnalysis& analysis, std::int32_t stage) {
  const std::vector<std::int32_t> readers = consumers(state, analysis, stage);
  if (readers.empty()) {
    return std::nullopt;
  }
  if (readers.size() == 1) {
    return readers.front();
  }
  std::optional<std::int32_t> common;
  for (std::int32_t reader : readers) {
    std::int32_t root = reader;
    if (state.stage(static_cast<std::size_t>(reader)).compute_at == ComputeAt::iterator) {
      root = state.attach_map().stage_to_iterator.at(reader).stage;
    }
    if (common && *common != root) {
      return std::nullopt;
    }
    common = root;
  }
  return common;
}

inline bool has_non_spatial_iterator(const State& state, std::int32_t stage) {
  const auto& iterators = state.stage(static_cast<std::size_t>(stage)).iterators;
  return any_item(iterators, [](const auto& it) { return it.kind != IteratorKind::spatial; });
}

/// "Tiled" of the reference: the number of iterators is not that of the operation's axes, so a
/// stage with fused iterators counts as well.
inline bool is_tiled(const State& state, std::int32_t stage) {
  const auto id = static_cast<std::size_t>(stage);
  const Operation& operation = state.operation(id);
  return state.stage(id).iterators.size() != operation.axes.size() + operation.reduce_axes.size();
}

/// The consumer that multi-level tiling can fuse with: the only one, elementwise on the way. An
/// argument of the kernel is computed whole, whoever reads it.
inline std::optional<std::int32_t> single_elementwise_consumer(const State& state,
                                                               const AccessAnalysis& analysis,
                                                               std::int32_t stage) {
  const std::vector<std::int32_t> readers = consumers(state, analysis, stage);
  if (readers.size() != 1 || analysis.is_output(static_cast<std::uint32_t>(stage))) {
    return std::nullopt;
  }
  const std::int32_t target = readers.front();
  if (has_non_spatial_iterator(state, stage) && has_non_spatial_iterator(state, target)) {
    return std::nullopt;
  }
  if (state.stage(static_cast<std::size_t>(target)).is_shared_copy() ||
      !analysis.elementwise_match(static_cast<std::uint32_t>(stage),
                                  static_cast<std::uint32_t>(target))) {
    return std::nullopt;
  }
  return target;
}

/// The same unless another rule has tiled it.
inline std::optional<std::int32_t> untiled_elementwise_consumer(const State& state,
                                                                const AccessAnalysis& analysis,
                                                                std::int32_t stage) {
  const auto target = single_elementwise_consumer(state, analysis, stage);
  return target && !is_tiled(state, *target) ? target : std::nullopt;
}

/// Whether `stage` (today's id) was made by a cache write: it is the cache.
inline bool has_cache_write(const State& state, std::int32_t stage) {
  const std::vector<Step>& steps = state.steps();
  for (std::size_t i = steps.size(); i > 0; --i) {
    const Step& step = steps[i - 1];
    if (std::holds_alternative<CacheWriteStep>(step) && stage_of(step) == stage) {
      return true;
    }
    if (adds_stage(step) && stage > stage_of(step)) {
      --stage;
    }
  }
  return false;
}

/// Indices of the splits of `stage` (today's id), the last first. Those in front of an rfactor are
/// of a stage that is no more.
inline std::vector<std::int32_t> split_steps_of(const State& state, std::int32_t stage) {
  const std::vector<Step>& steps = state.steps();
  std::vector<std::int32_t> found;
  for (std::size_t i = steps.size(); i > 0; --i) {
    const Step& step = steps[i - 1];
    if (std::holds_alternative<RfactorStep>(step) &&
        (stage == stage_of(step) || stage == stage_of(step) + 1)) {
      break;
    }
    if (std::holds_alternative<SplitStep>(step) && stage_of(step) == stage) {
      found.push_back(static_cast<std::int32_t>(i - 1));
    }
    if (adds_stage(step) && stage > stage_of(step)) {
      --stage;
    }
  }
  return found;
}

/// Whether threads share a reduction of `stage` or of a stage that is computed inside it.
inline bool has_cross_thread_reduction(const State& state, std::int32_t stage) {
  const auto reduces = [&](std::int32_t id) {
    return any_item(state.stage(static_cast<std::size_t>(id)).iterators, [](const auto& it) {
      return it.kind == IteratorKind::reduction && it.annotation == Annotation::thread_x;
    });
  };
  const auto& attached = state.attach_map().stage_to_iterator;
  return reduces(stage) || any_item(attached, [&](const auto& entry) {
           return entry.second.stage == stage && reduces(entry.first);
         });
}

/// Product of the extents of all iterators of one kind; an undefined extent counts as -1.
inline std::int64_t extent_product(const State& state, std::int32_t stage, IteratorKind kind) {
  std::int64_t product = 1;
  for (const auto& it : state.stage(static_cast<std::size_t>(stage)).iterators) {
    if (it.kind == kind) {
      product *= it.extent.value_or(-1);
    }
  }
  return product;
}

inline bool is_attach_point(const State& state, std::int32_t stage, std::size_t iterator) {
  const IteratorKey key{stage, static_cast<std::int32_t>(iterator)};
  return state.attach_map().iterator_to_stages.count(key) != 0;
}

/// Whether the stage reduces, may be cut as one likes, and nothing was done to it.
inline bool is_untouched_sum(const State& state, std::int32_t stage) {
  const Operation& op = state.operation(static_cast<std::size_t>(stage));
  return !op.is_placeholder() && !op.reduce_axes.empty() && op.attrs.no_split_at_inner.empty() &&
         !is_tiled(state, stage) && !has_cache_write(state, stage);
}

/// Whether what is read moves along the last of its dimensions with `var`.
inline bool reads_row_along(const ExprPool& pool, const TensorRead& read, VarId var) {
  return !read.indices.empty() && uses_var(pool, read.indices.back(), var);
}

/// The same of some operand of the body.
inline bool reads_rows_along(const ExprPool& pool, const Operation& op, VarId var) {
  bool found = false;
  for (ExprId body : op.bodies) {
    visit_nodes(pool, body, [&](ExprId id) {
      const TensorRead* read = pool.as<TensorRead>(id);
      found = found || (read != nullptr && reads_row_along(pool, *read, var));
    });
  }
  return found;
}

/// The reads of something that has about as many elements as the stage has terms, so that there is
/// little to keep for later: the matrix of a product with a vector, what a sum of all adds up.
inline std::vector<const TensorRead*> reads_of_own_terms(const State& state, std::int32_t stage) {
  const ComputeDag& dag = state.dag();
  const std::int64_t terms = extent_product(state, stage, IteratorKind::spatial) *
                             extent_product(state, stage, IteratorKind::reduction);
  std::vector<const TensorRead*> found;
  for (const ExprId body : state.operation(static_cast<std::size_t>(stage)).bodies) {
    visit_nodes(dag.pool(), body, [&](ExprId id) {
      const TensorRead* read = dag.pool().as<TensorRead>(id);
      if (read != nullptr && 2 * num_elements(dag.tensor(read->tensor)) >= terms) {
        found.push_back(read);
      }
    });
  }
  return found;
}

/// The reduction axis, the innermost of them, along which the stage reads rows of memory: of what
/// it reads once if there is such a thing.
inline std::optional<std::int32_t> reduction_along_rows(const State& state, std::int32_t stage) {
  const Operation& op = state.operation(static_cast<std::size_t>(stage));
  const ExprPool& pool = state.dag().pool();
  const std::vector<const TensorRead*> own = reads_of_own_terms(state, stage);
  for (std::size_t a = op.reduce_axes.size(); a-- > 0;) {
    const VarId var = op.reduce_axes[a].var;
    const bool is_along =
        own.empty() ? reads_rows_along(pool, op, var) : any_item(own, [&](const TensorRead* read) {
          return reads_row_along(pool, *read, var);
        });
    if (is_along) {
      return static_cast<std::int32_t>(a);
    }
  }
  return std::nullopt;
}

/// Pieces of an iterator's name that are not tile levels: "i.0@j.1@" -> i, j.
inline std::vector<std::string> original_names(const std::string& name) {
  std::vector<std::string> names;
  std::string piece;
  const auto flush = [&] {
    if (!piece.empty() && !(piece[0] >= '0' && piece[0] <= '9')) {
      names.push_back(piece);
    }
    piece.clear();
  };
  for (char c : name) {
    if (c == '.' || c == '@') {
      flush();
    } else {
      piece.push_back(c);
    }
  }
  flush();
  return names;
}

}  // namespace tensorsmith
