// SPDX-License-Identifier: Apache-2.0
// feature_rows: the rows of a store program, of whichever it was made.
//
// Floor 5. Ansor reference, ch. 6; columns in features.def. Not here: store programs of states
// (extract.hpp) and of kernels (kernel_features.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tensorsmith/feature/access.hpp"
#include "tensorsmith/feature/annotation.hpp"
#include "tensorsmith/feature/columns.hpp"
#include "tensorsmith/feature/feature_options.hpp"
#include "tensorsmith/feature/feature_vector.hpp"
#include "tensorsmith/feature/intensity.hpp"
#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

namespace detail {

/// Raw values of one row; slog comes last.
struct FeatureRow {
  TensorId tensor;
  OpCounts counts;
  AnnotationFeatures annotation;
  std::vector<AccessFeatures> accesses;
  std::array<double, intensity_points> curve{};  ///< as it is written
  const FeatureAllocation* allocation = nullptr;
  double outer_prod = 1, num_loops = 0, auto_unroll_max_step = 0;
};

inline float slog(double x) {
  return static_cast<float>(x < 0 ? -math::log2(1 - x) : math::log2(1 + x));
}
/// What stands in a row for a number.
struct FeatureScale {
  bool is_log = true;
  float operator()(double x) const { return is_log ? slog(x) : static_cast<float>(x); }
};

/// Whether `a` stands in front of `b` in a row.
inline bool is_before(const AccessFeatures& a, const AccessFeatures& b, FeatureForm form) {
  if (form == FeatureForm::ansor) {
    return a.lines != b.lines ? a.lines > b.lines : a.bytes > b.bytes;
  }
  if (a.reuse_dis_bytes != b.reuse_dis_bytes) {
    return a.reuse_dis_bytes < b.reuse_dis_bytes;
  }
  if (a.unique_bytes != b.unique_bytes) {
    return a.unique_bytes < b.unique_bytes;
  }
  return a.unique_lines != b.unique_lines ? a.unique_lines < b.unique_lines : a.kind < b.kind;
}

/// `seen(store, outer_prod, accesses)`: what the store takes, the stored tensor last.
template <class Seen>
void read_store(const StoreProgram& program, const FeatureStore& store, TouchTables& touch,
                algebra::Remembered<algebra::Bound>& known, const FeatureOptions& options,
                const Seen& seen, FeatureRow& row) {
  AccessExtractor extractor(program, store, touch, known, options);
  row.outer_prod = extractor.outer_prod();
  for (std::size_t i = 0; i < num_op_classes; ++i) {
    row.counts.count[i] += row.outer_prod * store.counts.count[i];
  }
  const AnnotationFeatures before = row.annotation;
  row.annotation = annotation_features(program, store);
  const auto keep_product = [](LoopClass& now, const LoopClass& old) {
    now.prod = now.num == 0 ? old.prod : now.prod;
  };
  keep_product(row.annotation.vec, before.vec);
  keep_product(row.annotation.unroll, before.unroll);
  keep_product(row.annotation.parallel, before.parallel);
  row.annotation.is_gpu = row.annotation.is_gpu || before.is_gpu;

  row.accesses.clear();
  // Of equals the one met last comes first, as the reference's table gives them out: that decides
  // which buffers of more than five are left out.
  for (std::size_t i = store.accesses.size(); i-- > 0;) {
    row.accesses.push_back(extractor.features(store.accesses[i]));
  }
  seen(store, row.outer_prod, row.accesses);
  sort_items(row.accesses, [&](const AccessFeatures& a, const AccessFeatures& b) {
    return is_before(a, b, options.form);
  });
  std::vector<double> ops;
  double per_loop = store.counts.num_float();
  for (double extent : extractor.first_extents()) {
    per_loop *= extent;
    ops.push_back(per_loop);
  }
  row.curve = intensity_curve(ops, extractor.bytes_per_loop(), options.intensity);
  const FeatureScale scale{options.is_log_scaled && options.intensity == IntensityForm::linear};
  for (double& value : row.curve) {
    value = scale(value);
  }
  row.num_loops = static_cast<double>(store.loops.size());
  row.auto_unroll_max_step = store.auto_unroll_max_step;
}

inline void write_loop_class(std::span<float, feature_length> out, HeadColumn first,
                             const LoopClass& kind, FeatureScale scale) {
  const std::size_t at = column(first);
  out[at] = scale(kind.num);
  out[at + 1] = scale(kind.prod);
  out[at + 2] = scale(kind.len);
  const std::size_t none = column(HeadColumn::vec_pos_none) - column(HeadColumn::vec_num);
  const std::size_t mixed = column(HeadColumn::vec_pos_mixed) - column(HeadColumn::vec_num);
  out[at + (kind.num == 0 ? none : mixed)] = 1;
}

/// The columns of one buffer.
inline void write_access(std::span<float> out, const AccessFeatures& f, FeatureScale scale) {
  const auto at = [](BufferColumn c) { return static_cast<std::size_t>(c); };
  const auto put = [&](BufferColumn c, double value) { out[at(c)] = scale(value); };
  out[at(BufferColumn::acc_read) + static_cast<std::size_t>(f.kind)] = 1;
  out[at(BufferColumn::reuse_loop_multiple_read) + static_cast<std::size_t>(f.reuse)] = 1;
  put(BufferColumn::bytes, f.bytes);
  put(BufferColumn::unique_bytes, f.unique_bytes);
  put(BufferColumn::lines, f.lines);
  put(BufferColumn::unique_lines, f.unique_lines);
  put(BufferColumn::reuse_dis_iter, f.reuse_dis_iter);
  put(BufferColumn::reuse_dis_bytes, f.reuse_dis_bytes);
  put(BufferColumn::reuse_ct, f.reuse_ct);
  const auto per_use = [&](double x) { return f.reuse_ct > 0.5 ? x / f.reuse_ct : x * 2; };
  put(BufferColumn::bytes_d_reuse_ct, per_use(f.bytes));
  put(BufferColumn::unique_bytes_d_reuse_ct, per_use(f.unique_bytes));
  put(BufferColumn::lines_d_reuse_ct, per_use(f.lines));
  put(BufferColumn::unique_lines_d_reuse_ct, per_use(f.unique_lines));
  put(BufferColumn::stride, f.stride);
}

inline double allocation_outer_prod(const FeatureAllocation& allocation,
                                    const FeatureOptions& options) {
  return options.form == FeatureForm::tenset ? allocation.constant_outer_prod
                                             : allocation.outer_prod;
}
inline void write_allocation_size(std::span<float, feature_length> out,
                                  const FeatureAllocation& allocation, double element_bytes,
                                  const FeatureOptions& options) {
  const FeatureScale scale{options.is_log_scaled};
  const auto tail = [&](TailColumn c, double value) { out[column(c)] = scale(value); };
  const double outer_prod = allocation_outer_prod(allocation, options);
  tail(TailColumn::alloc_size, allocation.elements * element_bytes);
  tail(TailColumn::alloc_prod, allocation.elements * outer_prod);
  tail(TailColumn::alloc_outer_prod, outer_prod);
}
/// TenSet's extractor does not see where scratch memory begins.
inline bool is_seen(const FeatureAllocation& allocation, const FeatureOptions& options) {
  return options.form == FeatureForm::ansor || !allocation.is_scratch;
}

inline void write_row(std::span<float, feature_length> out, const FeatureRow& row,
                      double element_bytes, const FeatureOptions& options) {
  const FeatureScale scale{options.is_log_scaled};
  const auto head = [&](HeadColumn c, double value) { out[column(c)] = scale(value); };
  const auto tail = [&](TailColumn c, double value) { out[column(c)] = scale(value); };
  for (std::size_t i = 0; i < num_op_classes; ++i) {
    out[column(HeadColumn::float_mad) + i] = scale(row.counts.count[i]);
  }
  write_loop_class(out, HeadColumn::vec_num, row.annotation.vec, scale);
  write_loop_class(out, HeadColumn::unroll_num, row.annotation.unroll, scale);
  write_loop_class(out, HeadColumn::parallel_num, row.annotation.parallel, scale);
  out[column(HeadColumn::is_gpu)] = row.annotation.is_gpu ? 1.0F : 0.0F;
  for (std::size_t i = 0; i < 3; ++i) {
    out[column(HeadColumn::block_idx_x_len) + i] = scale(row.annotation.block[i]);
    out[column(HeadColumn::thread_idx_x_len) + i] = scale(row.annotation.thread[i]);
  }
  head(HeadColumn::vthread_len, row.annotation.vthread);
  for (std::size_t b = 0; b < smaller_of(row.accesses.size(), feature_num_buffers); ++b) {
    write_access(out.subspan(column(b, BufferColumn{}), num_buffer_columns), row.accesses[b],
                 scale);
  }
  for (std::size_t i = 0; i < intensity_points; ++i) {
    out[column(TailColumn::arith_intensity_curve_0) + i] = static_cast<float>(row.curve[i]);
  }
  if (row.allocation != nullptr) {
    write_allocation_size(out, *row.allocation, element_bytes, options);
    tail(TailColumn::alloc_inner_prod,
         row.outer_prod / allocation_outer_prod(*row.allocation, options));
  }
  tail(TailColumn::outer_prod, row.outer_prod);
  tail(TailColumn::num_loops, row.num_loops);
  tail(TailColumn::auto_unroll_max_step, row.auto_unroll_max_step);
}

/// The row of a buffer that no store of the program fills: the result of a reduction across
/// threads.
inline void write_allocation(std::span<float, feature_length> out,
                             const FeatureAllocation& allocation, double element_bytes,
                             const FeatureOptions& options) {
  const FeatureScale scale{options.is_log_scaled};
  for (const HeadColumn first :
       {HeadColumn::vec_num, HeadColumn::unroll_num, HeadColumn::parallel_num}) {
    write_loop_class(out, first, {}, scale);
  }
  write_allocation_size(out, allocation, element_bytes, options);
}

/// Rows in the order of the first store to each buffer, then those of allocations that no store
/// fills. `is_left_out(tensor)`: no row for it. `seen`: see read_store.
template <class LeftOut, class Seen>
FeatureMatrix feature_rows(const StoreProgram& program, const FeatureOptions& options,
                           const LeftOut& is_left_out, const Seen& seen) {
  FeatureMatrix result;
  TouchTables touch(program.num_tables);
  algebra::Remembered<algebra::Bound> bounds;
  std::vector<FeatureRow> rows;
  for (const FeatureStore& store : program.stores) {
    if (is_left_out(store.tensor)) {
      continue;
    }
    auto row = find_item(rows, [&](const auto& known) { return known.tensor == store.tensor; });
    if (row == nullptr) {
      row = &rows.emplace_back();
      row->tensor = store.tensor;
    }
    read_store(program, store, touch, bounds, options, seen, *row);
  }
  for (FeatureRow& row : rows) {
    for (const FeatureAllocation& allocation : program.allocations) {
      if (allocation.tensor == row.tensor && is_seen(allocation, options)) {
        row.allocation = &allocation;
      }
    }
    write_row(result.add_row(), row, bytes_of(program.dtype(row.tensor)), options);
  }
  for (const FeatureAllocation& allocation : program.allocations) {
    if (!is_left_out(allocation.tensor) && is_seen(allocation, options) &&
        find_item(rows, [&](const auto& r) { return r.tensor == allocation.tensor; }) == nullptr) {
      write_allocation(result.add_row(), allocation, bytes_of(program.dtype(allocation.tensor)),
                       options);
    }
  }
  return result;
}

template <class LeftOut>
FeatureMatrix feature_rows(const StoreProgram& program, const FeatureOptions& options,
                           const LeftOut& is_left_out) {
  return feature_rows(program, options, is_left_out,
                      [](const FeatureStore&, double, const std::vector<AccessFeatures>&) {});
}

}  // namespace detail

}  // namespace tensorsmith
