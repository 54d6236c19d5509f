// SPDX-License-Identifier: Apache-2.0
// symbolic_rows: Felix's 154 features of every stored buffer, and its limits, as formulas.
//
// Floor 6.5. Felix, ch. 2.4 and 3.2. The rows of feature/felix_row.hpp, on the loops and accesses
// of a SymbolicNest. What they depend on is the sizes of the nest; on its loops they do not depend.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensorsmith/feature/felix_row.hpp"
#include "tensorsmith/felix/symbolic_nest.hpp"

namespace tensorsmith::felix {

/// Of a block, before anything is compared: the reference allows 1024 threads, 49152 bytes of
/// shared and 2^31 - 1 bytes of local memory, vectors of 4.
struct SymbolicLimits {
  FormulaId threads, vthreads, shared_bytes, local_bytes;
  std::vector<FormulaId> vector_lengths;
};

struct SymbolicRows {
  std::vector<TensorId> tensors;             ///< by row, in the order of first stores
  std::vector<std::vector<FormulaId>> rows;  ///< 154 each
  SymbolicLimits limits;
};

namespace detail {

class SymbolicRowBuilder {
 public:
  SymbolicRowBuilder(FormulaPool& pool, const SymbolicNest& nest, double line_bytes)
      : pool_(pool), n_(pool), nest_(nest), line_bytes_(line_bytes), tables_(nest.loops.size()) {}

  SymbolicRows run() {
    SymbolicRows result;
    for (const SymbolicStore& store : nest_.stores) {
      const FelixStore<FormulaId> read = read_store(store);
      const auto touched = [&](std::size_t p) -> const Touches& { return tables_[store.loops[p]]; };
      std::size_t at = 0;
      while (at < result.tensors.size() && result.tensors[at] != store.tensor) {
        ++at;
      }
      if (at == result.tensors.size()) {
        result.tensors.push_back(store.tensor);
        result.rows.emplace_back();
      }
      const SymbolicBuffer& buffer = nest_.buffers[store.tensor.value];
      FelixAllocation<FormulaId> allocation{buffer.elements, n_.number(1)};
      for (const std::uint32_t loop : buffer.around) {
        allocation.outer_prod = n_.mul(allocation.outer_prod, nest_.loops[loop].extent);
      }
      result.rows[at] = FelixRow(n_, read, touched, line_bytes_)
                            .run(buffer.elements.valid() ? &allocation : nullptr);
    }
    result.limits = limits();
    return result;
  }

 private:
  using Touches = std::vector<FelixTouch<FormulaId>>;

  FelixStore<FormulaId> read_store(const SymbolicStore& store) {
    FelixStore<FormulaId> made{};
    for (const std::uint32_t loop : store.loops) {
      made.loops.push_back(
          {nest_.loops[loop].extent, nest_.loops[loop].annotation, nest_.loops[loop].vanishes});
    }
    made.counts = store.counts;
    made.auto_unroll_max_step = store.auto_unroll_max_step;
    made.is_gpu = nest_.is_gpu;
    for (const SymbolicAccess& access : store.accesses) {
      made.accesses.push_back(access_of(store, access));
    }
    FormulaRanges ranges(pool_);
    for (const std::uint32_t loop : store.loops) {
      ranges.bind(nest_.loops[loop].var, {n_.number(0), n_.number(0)});
    }
    for (std::size_t p = store.loops.size(); p-- > 0;) {
      const SymbolicLoop& loop = nest_.loops[store.loops[p]];
      ranges.bind_loop(loop.var, loop.extent);
      for (const SymbolicAccess& access : store.accesses) {
        tables_[store.loops[p]].push_back({access.tensor, elements_of(access, ranges),
                                           nest_.buffers[access.tensor.value].element_bytes});
      }
    }
    for (const FormulaId index : store.accesses[0].places[0]) {
      made.region.push_back(ranges.width(index));
    }
    return made;
  }
  /// Of several places, each counts as one dimension, the widest of its own.
  FormulaId elements_of(const SymbolicAccess& access, FormulaRanges& ranges) {
    FormulaId elements = n_.number(1);
    for (const std::vector<FormulaId>& place : access.places) {
      FormulaId widest = n_.number(1);
      for (const FormulaId index : place) {
        const FormulaId width = ranges.width(index);
        widest = n_.max(widest, width);
        elements = access.places.size() == 1 ? n_.mul(elements, width) : elements;
      }
      elements = access.places.size() == 1 ? elements : n_.mul(elements, widest);
    }
    return elements;
  }
  FelixAccess<FormulaId> access_of(const SymbolicStore& store, const SymbolicAccess& access) {
    const SymbolicBuffer& buffer = nest_.buffers[access.tensor.value];
    FelixAccess<FormulaId> made;
    made.name = buffer.name;
    made.tensor = access.tensor;
    made.kind = access.kind;
    made.element_bytes = buffer.element_bytes;
    made.lengths = buffer.lengths;
    for (const std::uint32_t loop : store.loops) {
      const FormulaId var = nest_.loops[loop].var;
      bool is_used = false;
      std::optional<FormulaId> stride;
      for (const std::vector<FormulaId>& place : access.places) {
        FormulaId later = n_.number(1);
        bool is_found = false;
        for (std::size_t d = place.size(); d-- > 0;) {
          StrideScan scan;
          scan.read(pool_, place[d], var);
          if (scan.visited && !is_found) {
            const FormulaId here = n_.mul(n_.number(scan.factor()), later);
            stride = stride ? n_.min(*stride, here) : here;
            is_found = true;
          }
          is_used = is_used || scan.visited;
          later = n_.mul(later, buffer.lengths[d]);
        }
      }
      made.uses.push_back(is_used);
      made.strides.push_back(stride);
    }
    return made;
  }
  /// The reference's heuristic: the last literal factor after the loop was met and before a plain
  /// addition wins.
  struct StrideScan {
    bool visited = false, is_product = false, is_sum = false;
    double stride = 0;

    void read(const FormulaPool& pool, FormulaId id, FormulaId var) {
      const FormulaNode& node = pool[id];
      for (std::size_t i = 0; i < arity_of(node.op); ++i) {
        read(pool, FormulaId{node.args[i]}, var);
      }
      if (id == var) {
        visited = true;
      } else if (node.op == Op::mul && visited && !is_sum) {
        for (std::size_t i = 0; i < 2; ++i) {
          const FormulaNode& factor = pool[FormulaId{node.args[i]}];
          if (factor.op == Op::number) {
            is_product = true;
            stride = factor.value;
            break;
          }
        }
      } else if (node.op == Op::add && visited && !is_product) {
        is_sum = true;
        stride = 1;
      }
    }
    double factor() const { return is_product || is_sum ? math::fabs(stride) : 1; }
  };

  /// Threads by distinct names: a nested loop over the same threads is no other threads.
  SymbolicLimits limits() {
    const FormulaId one = n_.number(1), zero = n_.number(0);
    SymbolicLimits made{one, one, zero, zero, {}};
    std::vector<FormulaId> seen;
    for (const SymbolicLoop& loop : nest_.loops) {
      const Annotation kind = loop.annotation;
      if (kind == Annotation::vectorize) {
        made.vector_lengths.push_back(loop.extent);
      }
      const bool is_thread = kind == Annotation::thread_x || kind == Annotation::thread_y ||
                             kind == Annotation::thread_z;
      if ((is_thread || kind == Annotation::vthread) && !has_item(seen, loop.var)) {
        seen.push_back(loop.var);
        FormulaId& product = is_thread ? made.threads : made.vthreads;
        product = n_.mul(product, loop.extent);
      }
    }
    for (const SymbolicBuffer& buffer : nest_.buffers) {
      if (buffer.elements.valid() && buffer.scope != FeatureScope::global) {
        FormulaId& sum =
            buffer.scope == FeatureScope::shared ? made.shared_bytes : made.local_bytes;
        sum = n_.add(sum, n_.mul(buffer.elements, n_.number(buffer.element_bytes)));
      }
    }
    return made;
  }

  FormulaPool& pool_;
  FormulaNumbers n_;
  const SymbolicNest& nest_;
  double line_bytes_;
  std::vector<Touches> tables_;  // by loop
};

}  // namespace detail

inline SymbolicRows symbolic_rows(FormulaPool& pool, const SymbolicNest& nest,
                                  double line_bytes = 64) {
  return detail::SymbolicRowBuilder(pool, nest, line_bytes).run();
}

}  // namespace tensorsmith::felix
