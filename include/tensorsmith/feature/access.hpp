// SPDX-License-Identifier: Apache-2.0
// AccessFeatures: bytes, cache lines, reuse and stride of every buffer a store touches (group 2).
//
// Floor 5. Ansor reference, ch. 6.4 and 6.5, with the quirks that reach the numbers.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/feature/access_stride.hpp"
#include "tensorsmith/feature/feature_options.hpp"
#include "tensorsmith/feature/reuse.hpp"
#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/ir/algebra/bounds.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

struct AccessFeatures {
  AccessKind kind = AccessKind::read;
  double bytes = 0, unique_bytes = 0, lines = 0, unique_lines = 0;
  ReuseKind reuse = ReuseKind::none;
  double reuse_dis_iter = 0, reuse_dis_bytes = 0, reuse_ct = 0;
  double stride = 0;
};

namespace detail {

class AccessExtractor {
 public:
  AccessExtractor(const StoreProgram& program, const FeatureStore& store, TouchTables& touch,
                  algebra::Remembered<algebra::Bound>& known, const FeatureOptions& options)
      : program_(program), store_(store), touch_(touch), bounds_(program.pool, known),
        line_(options.cache_line_bytes), form_(options.form) {
    for (std::size_t p = 0; p < store.loops.size(); ++p) {
      outer_prod_ *= extent(p);
    }
    fill_tables();
  }

  double outer_prod() const { return outer_prod_; }
  /// Extents of the loops while those around each are at their first iteration, innermost first.
  const std::vector<double>& first_extents() const { return first_extents_; }
  /// Bytes this store touches per loop, innermost first.
  const std::vector<double>& bytes_per_loop() const { return bytes_per_loop_; }

  AccessFeatures features(const FeatureAccess& access) {
    AccessFeatures f;
    const double element = bytes_of(program_.dtype(access.tensor));
    f.kind = access.kind;
    f.bytes = outer_prod_ * element;
    const std::size_t depth = store_.loops.size();
    if (depth == 0) {
      f.unique_bytes = element;
      f.lines = f.unique_lines = 1;
      return f;
    }
    for (const TouchTables::Entry& entry : touch_[store_.loops[0].table]) {
      if (entry.tensor == access.tensor) {
        f.unique_bytes = entry.elements * element;
        break;
      }
    }
    double stride = 0, reduce_ratio = 1;
    for (std::size_t p = depth; p-- > 0;) {
      stride = stride_of(access, store_.loops[p].loop);
      if (stride != 0) {
        f.stride = p + 1 == depth ? stride : 0;
        break;
      }
      reduce_ratio *= extent(depth - 1);  // the innermost loop's, whichever loop is skipped
    }
    f.lines =
        larger_of(1.0, outer_prod_ / reduce_ratio * smaller_of(1.0, stride * element / line_));
    double continuous = element;
    for (std::size_t d = rank_of(access); d-- > 0;) {
      if (d < region_.size() && region_[d] == length_of(access, d)) {
        continuous *= static_cast<double>(region_[d]);
        break;
      }
    }
    f.unique_lines = larger_of(1.0, f.unique_bytes / smaller_of(continuous, line_));
    reuse(access, f);
    return f;
  }

 private:
  /// In TenSet's form a loop counts once if its extent depends on those around.
  double extent(std::size_t position) const {
    const FeatureLoop& loop = program_.loops[static_cast<std::size_t>(store_.loops[position].loop)];
    return form_ == FeatureForm::tenset ? loop.constant_extent() : static_cast<double>(loop.extent);
  }
  std::size_t rank_of(const FeatureAccess& access) const {
    return access.pieces.empty() ? program_.shape(access.tensor).size() : access.pieces.size();
  }
  std::int64_t length_of(const FeatureAccess& access, std::size_t dimension) const {
    return detail::length_of(program_, access, dimension);
  }
  /// Elements along `dimension` while the loops that are bound run. The reference counts them in 64
  /// bits and keeps 32, so a range without ends is -1 and one without an upper end 0.
  std::int32_t width(const FeatureAccess& access, std::size_t dimension) const {
    algebra::Bound all = bounds_(access.indices[dimension]);
    for (std::size_t at = dimension + access.rank; at < access.indices.size(); at += access.rank) {
      all = algebra::hull(all, bounds_(access.indices[at]));
    }
    const std::uint64_t span =
        static_cast<std::uint64_t>(all.max) - static_cast<std::uint64_t>(all.min);
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(span + 1));
  }
  void bind(std::int32_t loop, std::int64_t last) {
    for (std::int32_t var : program_.loops[static_cast<std::size_t>(loop)].vars) {
      bounds_.bind(var, algebra::Bound{0, last});
    }
  }
  /// Lets the loops from `position` inwards run while those around stand at their first iteration;
  /// the iterations of the outermost of them.
  std::int64_t run_from(std::size_t position) {
    std::int64_t first = 1;
    for (std::size_t p = position; p < store_.loops.size(); ++p) {
      const std::int32_t loop = store_.loops[p].loop;
      const FeatureLoop& known = program_.loops[static_cast<std::size_t>(loop)];
      if (p > position && (known.varying == algebra::no_ref || form_ == FeatureForm::tenset)) {
        continue;  // runs already
      }
      const std::int64_t count =
          known.varying != algebra::no_ref ? bounds_(known.varying).max : known.extent;
      bind(loop, count - 1);
      first = p == position ? count : first;
    }
    return first;
  }
  void fill_tables() {
    for (const OpenFeatureLoop& open : store_.loops) {
      bind(open.loop, 0);
    }
    for (std::size_t p = store_.loops.size(); p-- > 0;) {
      const std::int64_t first = run_from(p);
      first_extents_.push_back(form_ == FeatureForm::tenset ? extent(p)
                                                            : static_cast<double>(first));
      double bytes = 0;
      auto& table = touch_[store_.loops[p].table];
      for (const FeatureAccess& access : store_.accesses) {
        double elements = 1;
        for (std::size_t d = 0; d < access.rank; ++d) {
          const std::int32_t w = width(access, d);
          elements *= static_cast<double>(w);
          if (p == 0 && &access == &store_.accesses[0]) {
            region_.push_back(w);
          }
        }
        elements = larger_of(elements, 0.0);
        const double element = bytes_of(program_.dtype(access.tensor));
        table.push_back({access.tensor, elements, element, access.kind});
        bytes += elements * element;
      }
      bytes_per_loop_.push_back(bytes);
    }
  }

  bool uses_loop(algebra::Ref ref, std::int32_t loop) const {
    const algebra::Node& node = program_.pool[ref];
    bool uses = is_of_loop(program_, node, loop);
    for (std::size_t i = 0; !uses && i < node.num_operands; ++i) {
      uses = uses_loop(program_.pool.operand(node, i), loop);
    }
    return uses;
  }
  double stride_of(const FeatureAccess& access, std::int32_t loop) const {
    if (access.rank == 0) {
      return form_ == FeatureForm::tenset ? 0 : 1;  // as the references have it
    }
    return detail::stride_of(program_, access, loop).value_or(0);
  }

  void reuse(const FeatureAccess& access, AccessFeatures& f) {
    const ReuseQuestion question{store_.loops.size(), access.tensor,
                                 [&](std::size_t p) { return extent(p); },
                                 [&](std::size_t p) {
                                   return any_item(access.indices, [&](algebra::Ref index) {
                                     return uses_loop(index, store_.loops[p].loop);
                                   });
                                 },
                                 [&](std::size_t p) -> const std::vector<TouchTables::Entry>& {
                                   return touch_[store_.loops[p].table];
                                 }};
    const Reuse found = form_ == FeatureForm::tenset ? reuse_until_next_use(question)
                                                     : reuse_until_unused(question);
    f.reuse = found.kind;
    f.reuse_dis_iter = found.dis_iter;
    f.reuse_dis_bytes = found.dis_bytes;
    f.reuse_ct = found.ct;
  }

  const StoreProgram& program_;
  const FeatureStore& store_;
  TouchTables& touch_;
  algebra::Bounds bounds_;
  double line_;
  FeatureForm form_;
  double outer_prod_ = 1;
  std::vector<std::int32_t> region_;  // of the stored buffer in the whole nest
  std::vector<double> first_extents_;
  std::vector<double> bytes_per_loop_;
};

}  // namespace detail
}  // namespace tensorsmith
