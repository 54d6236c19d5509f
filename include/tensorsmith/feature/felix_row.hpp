// SPDX-License-Identifier: Apache-2.0
// FelixRow: the formulas of Felix's 154 features of one stored buffer.
//
// Floor 5. Felix, ch. 3.2. Written once for all kinds of numbers (felix_store.hpp). What several
// loops could decide ("the first loop that ...") is a product over all loops of the value to the
// power of its condition; "none does" is 1. Rows are those of the released code: slots without a
// buffer count as read, and lines are divided by the loop that was found, too. Not here: loops and
// accesses of programs (felix_nests.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/feature/felix_columns.hpp"
#include "tensorsmith/feature/felix_store.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

/// `touched(p)`: what was touched under loop `p` of the store, by this store and those before it.
template <class Numbers, class Touched>
class FelixRow {
  using Number = typename Numbers::Number;
  using Truth = typename Numbers::Truth;

 public:
  FelixRow(const Numbers& numbers, const FelixStore<Number>& store, const Touched& touched,
           double line_bytes)
      : n_(numbers), store_(store), touched_(touched), line_(n_.number(line_bytes)),
        row_(felix_length, n_.number(0)), prod_(product_of([](const auto&) { return true; })) {}

  /// The row; `allocation` null: nothing is known of one.
  std::vector<Number> run(const FelixAllocation<Number>* allocation) {
    for (std::size_t c = 0; c < num_op_classes; ++c) {
      row_[c] = n_.feature(n_.mul(prod_, store_.counts[c]));
    }
    write_loops(HeadColumn::vec_num, [](Annotation a) { return a == Annotation::vectorize; });
    write_loops(HeadColumn::unroll_num, [](Annotation a) { return a == Annotation::unroll; });
    write_loops(HeadColumn::parallel_num,
                [](Annotation a) { return a == Annotation::parallel || is_thread_annotation(a); });
    row_[felix_column(HeadColumn::is_gpu)] = n_.flag(n_.truth(store_.is_gpu));
    write_grid();
    write_accesses();
    if (allocation != nullptr) {
      const Number bytes = n_.number(store_.accesses[0].element_bytes);
      put(TailColumn::alloc_size, n_.mul(allocation->elements, bytes));
      put(TailColumn::alloc_prod, n_.mul(allocation->elements, allocation->outer_prod));
      put(TailColumn::alloc_outer_prod, allocation->outer_prod);
      put(TailColumn::alloc_inner_prod, n_.div(prod_, allocation->outer_prod));
    }
    put(TailColumn::outer_prod, prod_);
    put(TailColumn::num_loops, count_of([](const auto&) { return true; }));
    put(TailColumn::auto_unroll_max_step, store_.auto_unroll_max_step);
    return std::move(row_);
  }

 private:
  void put(TailColumn c, const Number& value) { row_[felix_column(c)] = n_.feature(value); }
  Truth is_nontrivial(const FelixLoop<Number>& loop) const {
    return loop.is_grid() ? n_.truth(true) : n_.above_one(loop.extent);
  }
  template <class Chosen>
  Number product_of(const Chosen& is_chosen) const {
    Number product = n_.number(1);
    for (const FelixLoop<Number>& loop : store_.loops) {
      product = is_chosen(loop) ? n_.mul(product, loop.extent) : product;
    }
    return product;
  }
  template <class Chosen>
  Number count_of(const Chosen& is_chosen) const {
    Number count = n_.number(0);
    for (const FelixLoop<Number>& loop : store_.loops) {
      if (is_chosen(loop)) {
        count = n_.add(count, n_.select(is_nontrivial(loop), n_.number(1), n_.number(0)));
      }
    }
    return count;
  }

  template <class IsOfKind>
  void write_loops(HeadColumn first, const IsOfKind& is_of_kind) {
    const auto is_chosen = [&](const FelixLoop<Number>& loop) {
      return is_of_kind(loop.annotation);
    };
    const std::size_t at = felix_column(first);
    const std::size_t none = column(HeadColumn::vec_pos_none) - column(HeadColumn::vec_num);
    const std::size_t mixed = column(HeadColumn::vec_pos_mixed) - column(HeadColumn::vec_num);
    Number length = n_.number(0);
    Truth is_looking = n_.truth(true);
    for (std::size_t p = store_.loops.size(); p-- > 0;) {
      const FelixLoop<Number>& loop = store_.loops[p];
      if (is_chosen(loop)) {
        const Truth is_there = loop.vanishes ? n_.above_one(loop.extent) : n_.truth(true);
        length =
            n_.add(length, n_.select(n_.both(is_looking, is_there), loop.extent, n_.number(0)));
        is_looking = n_.both(is_looking, n_.negated(is_there));
      }
    }
    const Truth is_any = n_.negated(is_looking);
    row_[at] = n_.feature(count_of(is_chosen));
    row_[at + 1] = n_.feature(n_.select(is_any, product_of(is_chosen), n_.number(0)));
    row_[at + 2] = n_.feature(length);
    row_[at + none] = n_.flag(is_looking);
    row_[at + mixed] = n_.flag(is_any);
  }

  /// Of several loops over one kind of thread the innermost counts.
  void write_grid() {
    constexpr std::pair<Annotation, HeadColumn> kinds[] = {
        {Annotation::block_x, HeadColumn::block_idx_x_len},
        {Annotation::block_y, HeadColumn::block_idx_y_len},
        {Annotation::block_z, HeadColumn::block_idx_z_len},
        {Annotation::thread_x, HeadColumn::thread_idx_x_len},
        {Annotation::thread_y, HeadColumn::thread_idx_y_len},
        {Annotation::thread_z, HeadColumn::thread_idx_z_len},
        {Annotation::vthread, HeadColumn::vthread_len}};
    for (const auto& [kind, into] : kinds) {
      Number length = n_.number(1);
      for (const FelixLoop<Number>& loop : store_.loops) {
        length = loop.annotation == kind ? loop.extent : length;
      }
      row_[felix_column(into)] = n_.feature(length);
    }
  }

  void write_accesses() {
    std::vector<const FelixAccess<Number>*> order;
    for (const FelixAccess<Number>& access : store_.accesses) {
      order.push_back(&access);
    }
    sort_items(order, [](const auto* a, const auto* b) { return a->name < b->name; });
    for (std::size_t b = 0; b < feature_num_buffers; ++b) {
      if (b < order.size()) {
        write_access(b, *order[b]);
      } else {
        row_[felix_column(b, BufferColumn::acc_read)] = n_.flag(n_.truth(true));
      }
    }
  }

  void write_access(std::size_t b, const FelixAccess<Number>& access) {
    const auto at = [&](BufferColumn c) -> Number& { return row_[felix_column(b, c)]; };
    const auto into = [&](BufferColumn c, const Number& value) { at(c) = n_.feature(value); };
    at(static_cast<BufferColumn>(static_cast<std::size_t>(access.kind))) = n_.flag(n_.truth(true));
    const Number element = n_.number(access.element_bytes);
    const Number bytes = n_.mul(prod_, element);
    Number unique_bytes = element, lines = n_.number(1), unique_lines = lines,
           stride = n_.number(0);
    if (!store_.loops.empty()) {
      unique_bytes = n_.mul(first_touched(access), element);
      lines = lines_and_stride(access, element, stride);
      unique_lines =
          n_.max(n_.div(unique_bytes, n_.min(run_of_bytes(access, element), line_)), n_.number(1));
    }
    const Reuse found = reuse(access);
    at(BufferColumn::reuse_loop_multiple_read) = n_.flag(found.is_multiple);
    at(BufferColumn::reuse_serial_multiple_read_write) = n_.flag(found.is_serial);
    at(BufferColumn::reuse_no_reuse) =
        n_.flag(n_.negated(n_.either(found.is_multiple, found.is_serial)));
    const Number count = n_.exp(found.count);
    into(BufferColumn::bytes, bytes);
    into(BufferColumn::unique_bytes, unique_bytes);
    into(BufferColumn::lines, lines);
    into(BufferColumn::unique_lines, unique_lines);
    into(BufferColumn::reuse_dis_iter, n_.exp(found.iterations));
    into(BufferColumn::reuse_dis_bytes, n_.exp(found.bytes));
    into(BufferColumn::reuse_ct, count);
    into(BufferColumn::bytes_d_reuse_ct, n_.div(bytes, count));
    into(BufferColumn::unique_bytes_d_reuse_ct, n_.div(unique_bytes, count));
    into(BufferColumn::lines_d_reuse_ct, n_.div(lines, count));
    into(BufferColumn::unique_lines_d_reuse_ct, n_.div(unique_lines, count));
    into(BufferColumn::stride, stride);
  }

  /// ln of a value where the condition holds, 0 elsewhere: a factor of a product of choices.
  Number chosen(const Truth& condition, const Number& value) const {
    return n_.select(condition, n_.log(value), n_.number(0));
  }
  Number first_touched(const FelixAccess<Number>& access) const {
    for (const FelixTouch<Number>& touch : touched_(0)) {
      if (touch.tensor == access.tensor) {
        return touch.elements;
      }
    }
    return n_.number(1);
  }
  /// Touched cache lines, by the first loop from inside that the indices have.
  Number lines_and_stride(const FelixAccess<Number>& access, const Number& element,
                          Number& innermost_stride) const {
    Number ratio = n_.number(1), log_ratio = n_.number(0), log_stride = log_ratio,
           log_innermost = log_ratio;
    Truth is_looking = n_.truth(true), is_first = is_looking;
    for (std::size_t p = store_.loops.size(); p-- > 0;) {
      const Truth nontrivial = is_nontrivial(store_.loops[p]);
      ratio = n_.mul(ratio, store_.loops[p].extent);
      if (access.strides[p]) {
        const Truth found = n_.both(is_looking, nontrivial);
        log_innermost = n_.add(log_innermost, chosen(n_.both(found, is_first), *access.strides[p]));
        log_stride = n_.add(log_stride, chosen(found, *access.strides[p]));
        log_ratio = n_.add(log_ratio, chosen(found, ratio));
        is_looking = n_.both(is_looking, n_.negated(nontrivial));
      }
      is_first = n_.both(is_first, n_.negated(nontrivial));
    }
    log_ratio = n_.add(log_ratio, chosen(is_looking, ratio));
    innermost_stride = n_.exp(log_innermost);
    const Number share = n_.div(n_.mul(n_.exp(log_stride), element), line_);
    return n_.max(n_.mul(n_.div(prod_, n_.exp(log_ratio)), n_.min(n_.number(1), share)),
                  n_.number(1));
  }
  /// Bytes in a row: by the innermost dimension in which the region of the stored buffer is as long
  /// as this buffer.
  Number run_of_bytes(const FelixAccess<Number>& access, const Number& element) const {
    Number log_run = n_.number(0);
    Truth is_looking = n_.truth(true);
    for (std::size_t d = smaller_of(store_.region.size(), access.lengths.size()); d-- > 0;) {
      const Number& touched = store_.region[d];
      const Truth is_whole = n_.equal(touched, access.lengths[d]);
      log_run = n_.add(log_run, chosen(n_.both(is_looking, is_whole), n_.mul(element, touched)));
      is_looking = n_.both(is_looking, n_.negated(is_whole));
    }
    return n_.exp(n_.add(log_run, chosen(is_looking, element)));
  }

  struct Reuse {
    Truth is_multiple, is_serial;
    Number iterations, bytes, count;  ///< logarithms
  };
  Number bytes_under(std::size_t p, bool counts_elements) const {
    Number sum = n_.number(0);
    for (const FelixTouch<Number>& touch : touched_(p)) {
      const Number element = n_.number(touch.element_bytes);
      sum = n_.add(sum, counts_elements ? n_.mul(touch.elements, element) : element);
    }
    return sum;
  }
  Reuse reuse(const FelixAccess<Number>& access) const {
    const Number zero = n_.number(0);
    Reuse found{n_.truth(false), n_.truth(false), zero, zero, zero};
    Number iterations = n_.number(1);
    Truth is_looking = n_.truth(true);
    for (std::size_t p = store_.loops.size(); p-- > 0;) {
      const Number extent = store_.loops[p].extent;
      std::optional<Number> least;
      double num_touches = 0;
      for (const FelixTouch<Number>& touch : touched_(p)) {
        if (touch.tensor == access.tensor) {
          least = least ? n_.min(*least, touch.elements) : touch.elements;
          num_touches += 1;
        }
      }
      const bool is_used = access.uses[p], has_others = num_touches > 1;
      const Truth here = n_.both(is_looking, n_.above_one(extent));
      const auto take = [&](const Number& distance, const Number& bytes, const Number& count) {
        found.iterations = n_.add(found.iterations, chosen(here, distance));
        found.bytes = n_.add(found.bytes, chosen(here, bytes));
        found.count = n_.add(found.count, chosen(here, count));
      };
      if (!is_used) {
        const bool is_innermost = p + 1 == store_.loops.size();
        take(iterations, bytes_under(is_innermost ? p : p + 1, !is_innermost), extent);
        found.is_multiple = n_.either(found.is_multiple, here);
      }
      if (has_others) {
        take(n_.div(*least, extent), n_.div(bytes_under(p, true), extent),
             n_.number(num_touches - 1));
        found.is_serial = n_.either(found.is_serial, here);
      }
      if (!is_used || has_others) {
        is_looking = n_.both(is_looking, n_.negated(n_.above_one(extent)));
      }
      iterations = n_.mul(iterations, extent);
    }
    return found;
  }

  const Numbers& n_;
  const FelixStore<Number>& store_;
  const Touched& touched_;
  Number line_;
  std::vector<Number> row_;
  Number prod_;
};

}  // namespace tensorsmith
