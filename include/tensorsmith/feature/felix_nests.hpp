// SPDX-License-Identifier: Apache-2.0
// FelixNests: the stores of a program as Felix's extractor sees them, in plain numbers.
//
// Floor 5. Felix, ch. 2.3, 3.1 and 3.2. An extent that depends on loops around is its greatest
// value; of a buffer that a store reads at several places each place counts as one dimension, the
// widest of its own. A reduction across threads has no buffers of its own here. Not here: the
// formulas (felix_row.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/feature/access_stride.hpp"
#include "tensorsmith/feature/felix_range.hpp"
#include "tensorsmith/feature/felix_store.hpp"
#include "tensorsmith/feature/store_program.hpp"

namespace tensorsmith::detail {

class FelixNests {
 public:
  using Store = FelixStore<double>;
  using Allocation = FelixAllocation<double>;
  using Touches = std::vector<FelixTouch<double>>;

  /// `names`: of the loops of the program; what is known of one loop is known of all of its name.
  FelixNests(const StoreProgram& program, const std::vector<std::string>& names)
      : program_(program), ranges_(program.pool), after_all_(program.pool),
        extents_(static_cast<std::size_t>(program.num_tables), 1),
        tables_(static_cast<std::size_t>(program.num_tables)) {
    find_names(names);
    for (const FeatureStore& store : program.stores) {
      find_extents(store);
    }
    after_all_ = ranges_;
    known_ = known_ && all_items(program.allocations, [](const FeatureAllocation& allocation) {
               return allocation.varying.empty();
             });
  }

  /// Whether Felix's own extractor has an answer: no extent depends on the loops around, and its
  /// rules know all ranges.
  bool is_known() const { return known_ && after_all_.is_known(); }
  /// It has a row.
  bool is_seen(TensorId tensor) const {
    return program_.dag == nullptr || program_.is_tensor(tensor);
  }

  /// `store`, after all before it in program order.
  Store read(const FeatureStore& store) {
    Store made{};
    for (const OpenFeatureLoop& open : store.loops) {
      made.loops.push_back({extent(open), loop_of(open).annotation});
      is_gpu_ = is_gpu_ || made.loops.back().is_grid();
    }
    made.is_gpu = is_gpu_;
    made.auto_unroll_max_step = store.auto_unroll_max_step;
    count_operations(store, made);
    const std::vector<LoadUses> uses = uses_of_loads(store);
    for (std::size_t i = 0; i < store.accesses.size(); ++i) {
      if (is_seen(store.accesses[i].tensor)) {
        made.accesses.push_back(access_of(store, store.accesses[i]));
      }
    }
    touch_all(store, uses, made);
    return made;
  }
  const Touches& touched(const OpenFeatureLoop& open) const {
    return tables_[static_cast<std::size_t>(open.table)];
  }

  /// Of the buffer that `store` fills.
  Allocation allocation_of(const FeatureAllocation& allocation, const FeatureStore& store) const {
    Allocation made{allocation.elements, 1};
    for (const algebra::Ref extent : allocation.varying) {
      made.elements *= static_cast<double>(after_all_(extent).max);
    }
    for (std::size_t p = 0; p < allocation.depth && p < store.loops.size(); ++p) {
      made.outer_prod *= extent(store.loops[p]);
    }
    return made;
  }

 private:
  const FeatureLoop& loop_of(const OpenFeatureLoop& open) const {
    return program_.loops[static_cast<std::size_t>(open.loop)];
  }
  double extent(const OpenFeatureLoop& open) const {
    return static_cast<double>(extents_[static_cast<std::size_t>(open.table)]);
  }

  void find_names(const std::vector<std::string>& names) {
    names_.assign(program_.pool.num_vars(), -1);
    vars_of_name_.resize(program_.loops.size());
    for (std::size_t loop = 0; loop < program_.loops.size(); ++loop) {
      std::size_t name = 0;
      while (name < loop && !has_same_name(names, name, loop)) {
        ++name;
      }
      name_of_loop_.push_back(static_cast<std::int32_t>(name));
      for (const std::int32_t var : program_.loops[loop].vars) {
        names_[static_cast<std::size_t>(var)] = static_cast<std::int32_t>(name);
        vars_of_name_[name].push_back(var);
      }
    }
  }
  /// Those over one kind of thread have.
  bool has_same_name(const std::vector<std::string>& names, std::size_t a, std::size_t b) const {
    const Annotation of_a = program_.loops[a].annotation, of_b = program_.loops[b].annotation;
    return is_thread_annotation(of_a) || is_thread_annotation(of_b) ? of_a == of_b
                                                                    : names[a] == names[b];
  }
  void bind(FelixRanges& ranges, const OpenFeatureLoop& open, std::int64_t last) const {
    const auto name = static_cast<std::size_t>(name_of_loop_[static_cast<std::size_t>(open.loop)]);
    for (const std::int32_t var : vars_of_name_[name]) {
      ranges.bind(var, {0, last});
    }
  }
  void find_extents(const FeatureStore& store) {
    for (const OpenFeatureLoop& open : store.loops) {
      const FeatureLoop& loop = loop_of(open);
      std::int64_t& extent = extents_[static_cast<std::size_t>(open.table)];
      extent = loop.varying == algebra::no_ref ? loop.extent : ranges_(loop.varying).max;
      known_ = known_ && loop.varying == algebra::no_ref;
      bind(ranges_, open, extent - 1);
    }
  }

  /// Integer operations are free where both operands are known, or one is neutral.
  void count_operations(const FeatureStore& store, Store& made) const {
    made.counts.fill(0);
    if (store.value == algebra::no_ref) {
      return;
    }
    const algebra::Pool& pool = program_.pool;
    const auto is_free = [&](const algebra::Node& node) {
      if (node.op < algebra::Op::add || node.op > algebra::Op::max ||
          is_float(pool.dtype(node.a))) {
        return false;
      }
      const FelixRange a = after_all_(node.a), b = after_all_(node.b);
      const bool is_sum = node.op == algebra::Op::add || node.op == algebra::Op::sub;
      const bool has_neutral = node.op != algebra::Op::min && node.op != algebra::Op::max;
      const std::int64_t neutral = is_sum ? 0 : 1;
      return a.is_point() && b.is_point()
                 ? true
                 : has_neutral && ((a.is_point() && a.min == neutral) ||
                                   (!a.is_point() && b.is_point() && b.min == neutral));
    };
    const OpCounts counts = CountedOperations(pool, is_free)(store.value);
    made.counts = counts.count;
  }

  /// How often the value reads a tensor at each of its places, in the order of FeatureAccess.
  struct LoadUses {
    TensorId tensor;
    std::vector<std::int64_t> counts;
  };
  std::vector<LoadUses> uses_of_loads(const FeatureStore& store) const {
    std::vector<LoadUses> uses;
    if (store.value == algebra::no_ref) {
      return uses;
    }
    algebra::RefMap<std::int64_t> times;
    std::vector<algebra::Ref> order;  // a node behind those that have it as an operand, at the end
    algebra::RefSet seen;
    std::vector<algebra::Ref> loads;
    visit(store.value, seen, order, loads);
    times.set(store.value, 1);
    for (std::size_t i = order.size(); i-- > 0;) {
      const std::int64_t own = *times.find(order[i]);
      const algebra::Node& node = program_.pool[order[i]];
      for (std::size_t k = 0; k < node.num_operands; ++k) {
        const algebra::Ref operand = program_.pool.operand(node, k);
        const std::int64_t* known = times.find(operand);
        times.set(operand, own + (known == nullptr ? 0 : *known));
      }
    }
    for (const algebra::Ref load : loads) {
      const TensorId tensor{static_cast<std::uint32_t>(program_.pool[load].value)};
      LoadUses* of_tensor =
          find_item(uses, [&](const LoadUses& known) { return known.tensor == tensor; });
      of_tensor = of_tensor == nullptr ? &uses.emplace_back(LoadUses{tensor, {}}) : of_tensor;
      of_tensor->counts.push_back(*times.find(load));
    }
    return uses;
  }
  void visit(algebra::Ref ref, algebra::RefSet& seen, std::vector<algebra::Ref>& order,
             std::vector<algebra::Ref>& loads) const {
    if (!seen.insert(ref)) {
      return;
    }
    const algebra::Node& node = program_.pool[ref];
    if (node.op == algebra::Op::load) {
      loads.push_back(ref);
    }
    for (std::size_t i = 0; i < node.num_operands; ++i) {
      visit(program_.pool.operand(node, i), seen, order, loads);
    }
    order.push_back(ref);
  }

  FelixAccess<double> access_of(const FeatureStore& store, const FeatureAccess& access) const {
    FelixAccess<double> made;
    if (program_.is_tensor(access.tensor)) {
      made.name = program_.dag->tensor(access.tensor).name;
    }
    made.tensor = access.tensor;
    made.kind = access.kind;
    made.element_bytes = bytes_of(program_.dtype(access.tensor));
    const std::size_t rank =
        access.pieces.empty() ? program_.shape(access.tensor).size() : access.pieces.size();
    for (std::size_t d = 0; d < rank; ++d) {
      made.lengths.push_back(static_cast<double>(length_of(program_, access, d)));
    }
    std::vector<bool> has_name(program_.loops.size(), false);
    algebra::RefSet seen;
    for (const algebra::Ref index : access.indices) {
      find_names_in(index, seen, has_name);
    }
    for (const OpenFeatureLoop& open : store.loops) {
      const auto loop = static_cast<std::size_t>(open.loop);
      made.uses.push_back(has_name[static_cast<std::size_t>(name_of_loop_[loop])]);
      made.strides.push_back(stride_of(program_, access, open.loop));
    }
    return made;
  }
  void find_names_in(algebra::Ref ref, algebra::RefSet& seen, std::vector<bool>& has_name) const {
    if (!seen.insert(ref)) {
      return;
    }
    const algebra::Node& node = program_.pool[ref];
    if (node.op == algebra::Op::var && names_[static_cast<std::size_t>(node.value)] >= 0) {
      has_name[static_cast<std::size_t>(names_[static_cast<std::size_t>(node.value)])] = true;
    }
    for (std::size_t i = 0; i < node.num_operands; ++i) {
      find_names_in(program_.pool.operand(node, i), seen, has_name);
    }
  }

  void touch_all(const FeatureStore& store, const std::vector<LoadUses>& uses, Store& made) {
    FelixRanges ranges = after_all_;
    for (const OpenFeatureLoop& open : store.loops) {
      bind(ranges, open, 0);
    }
    for (std::size_t p = store.loops.size(); p-- > 0;) {
      const OpenFeatureLoop& open = store.loops[p];
      bind(ranges, open, extents_[static_cast<std::size_t>(open.table)] - 1);
      Touches& table = tables_[static_cast<std::size_t>(open.table)];
      for (const FeatureAccess& access : store.accesses) {
        if (is_seen(access.tensor)) {
          table.push_back({access.tensor, elements_of(access, uses, ranges),
                           static_cast<double>(bytes_of(program_.dtype(access.tensor)))});
        }
      }
    }
    const FeatureAccess& own = store.accesses[0];
    for (std::size_t d = 0; d < own.rank; ++d) {
      made.region.push_back(ranges(own.indices[d]).width());
    }
    known_ = known_ && ranges.is_known();
  }
  double elements_of(const FeatureAccess& access, const std::vector<LoadUses>& uses,
                     const FelixRanges& ranges) const {
    const LoadUses* of_tensor =
        find_item(uses, [&](const LoadUses& known) { return known.tensor == access.tensor; });
    const bool is_read = access.kind == AccessKind::read && of_tensor != nullptr;
    const std::size_t num_places = access.rank == 0 ? 0 : access.indices.size() / access.rank;
    const bool is_one = num_places == 1 && (!is_read || of_tensor->counts[0] == 1);
    double elements = 1;
    for (std::size_t place = 0; place < num_places; ++place) {
      double widest = 0;
      for (std::size_t d = 0; d < access.rank; ++d) {
        const auto width = ranges(access.indices[place * access.rank + d]).width();
        elements *= is_one ? width : 1;
        widest = larger_of(widest, width);
      }
      for (std::int64_t i = 0; !is_one && i < (is_read ? of_tensor->counts[place] : 1); ++i) {
        elements *= widest;
      }
    }
    return elements;
  }

  const StoreProgram& program_;
  FelixRanges ranges_, after_all_;
  std::vector<std::int64_t> extents_;  ///< by table
  std::vector<Touches> tables_;
  std::vector<std::int32_t> names_;  ///< by variable; -1: no loop's
  std::vector<std::int32_t> name_of_loop_;
  std::vector<std::vector<std::int32_t>> vars_of_name_;
  bool is_gpu_ = false;
  bool known_ = true;
};

}  // namespace tensorsmith::detail
