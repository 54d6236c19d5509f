// AccessFeatures: bytes, cache lines, reuse and stride of every buffer a store touches (group 2).
//
// Floor 5. Ansor reference, ch. 6.4 and 6.5, with the quirks that reach the numbers.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

enum class ReuseKind : std::uint8_t { loop_multiple_read, serial_multiple_read_write, none };

struct AccessFeatures {
  AccessKind kind = AccessKind::read;
  double bytes = 0, unique_bytes = 0, lines = 0, unique_lines = 0;
  ReuseKind reuse = ReuseKind::none;
  double reuse_dis_iter = 0, reuse_dis_bytes = 0, reuse_ct = 0;
  double stride = 0;
};

/// What stores touch under each loop; grows from store to store in program order.
class TouchTables {
 public:
  struct Entry {
    TensorId tensor;
    double elements, element_bytes;
  };
  explicit TouchTables(std::int32_t num_tables) : tables_(static_cast<std::size_t>(num_tables)) {}
  std::vector<Entry>& operator[](std::int32_t table) {
    return tables_[static_cast<std::size_t>(table)];
  }

 private:
  std::vector<std::vector<Entry>> tables_;
};

namespace detail {

class AccessExtractor {
 public:
  AccessExtractor(const StoreProgram& program, const FeatureStore& store, TouchTables& touch,
                  double cache_line_bytes)
      : program_(program), store_(store), touch_(touch), line_(cache_line_bytes),
        position_(program.loops.size(), -1) {
    for (std::size_t p = 0; p < store.loops.size(); ++p) {
      position_[static_cast<std::size_t>(store.loops[p].loop)] = static_cast<std::int32_t>(p);
      outer_prod_ *= extent(p);
    }
    fill_tables();
  }

  double outer_prod() const { return outer_prod_; }
  /// Extent of the p-th loop while those around it are at their first iteration.
  double first_extent(std::size_t p) const {
    return static_cast<double>(loop_range(store_.loops[p].loop, static_cast<std::int32_t>(p)).max +
                               1);
  }
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
  double extent(std::size_t position) const {
    return static_cast<double>(
        program_.loops[static_cast<std::size_t>(store_.loops[position].loop)].extent);
  }
  std::size_t rank_of(const FeatureAccess& access) const {
    return access.pieces.empty() ? program_.shape(access.tensor).size() : access.pieces.size();
  }
  std::int64_t length_of(const FeatureAccess& access, std::size_t dimension) const {
    return access.pieces.empty() ? program_.shape(access.tensor)[dimension]
                                 : access.pieces[dimension];
  }
  std::size_t num_vectors(const FeatureAccess& access) const {
    return access.rank == 0 ? 0 : access.indices.size() / access.rank;
  }
  /// Values of a loop while the loops from `position` inwards run and the outer ones are at their
  /// first iteration.
  IndexRange loop_range(std::int32_t loop, std::int32_t position) const {
    const std::int32_t at = position_[static_cast<std::size_t>(loop)];
    if (at < position || at < 0) {
      return {0, 0};
    }
    const FeatureLoop& known = program_.loops[static_cast<std::size_t>(loop)];
    if (known.varying < 0) {
      return {0, known.extent - 1};
    }
    const IndexForm& extent = program_.varying_extents[static_cast<std::size_t>(known.varying)];
    const auto outer = [&](std::int32_t around) { return loop_range(around, position); };
    return {0, program_.atoms.range(extent, outer).max - 1};
  }
  /// Elements along `dimension` while the loops from `position` inwards run and the outer ones are
  /// at their first iteration.
  std::int64_t width(const FeatureAccess& access, std::size_t dimension,
                     std::int32_t position) const {
    const auto range_of_loop = [&](std::int32_t loop) { return loop_range(loop, position); };
    IndexRange hull;
    for (std::size_t v = 0; v < num_vectors(access); ++v) {
      const IndexRange one =
          program_.atoms.range(access.indices[v * access.rank + dimension], range_of_loop);
      hull = v == 0 ? one : IndexRange{smaller_of(hull.min, one.min), larger_of(hull.max, one.max)};
    }
    return hull.max - hull.min + 1;
  }
  void fill_tables() {
    for (std::size_t p = store_.loops.size(); p-- > 0;) {
      double bytes = 0;
      auto& table = touch_[store_.loops[p].table];
      for (const FeatureAccess& access : store_.accesses) {
        double elements = 1;
        for (std::size_t d = 0; d < access.rank; ++d) {
          const std::int64_t w = width(access, d, static_cast<std::int32_t>(p));
          elements *= static_cast<double>(w);
          if (p == 0 && &access == &store_.accesses[0]) {
            region_.push_back(w);
          }
        }
        const double element = bytes_of(program_.dtype(access.tensor));
        table.push_back({access.tensor, elements, element});
        bytes += elements * element;
      }
      bytes_per_loop_.push_back(bytes);
    }
  }

  /// The reference's heuristic, which reads the index from left to right: the last literal factor
  /// after the loop variable was met and before a plain addition wins.
  struct Scan {
    bool visited = false, is_product = false, is_sum = false;
    double stride = 0;
    void leave_product(double literal) {
      if (visited && !is_sum) {
        stride = literal;
        is_product = true;
      }
    }
    void leave_sum() {
      if (visited && !is_product) {
        is_sum = true;
        stride = 1;
      }
    }
  };
  /// An index is written as its positive terms, a positive constant, then what is subtracted, the
  /// last term first; only additions end the scan.
  void scan(const IndexForm& form, std::int32_t loop, Scan& state) const {
    bool is_first = true;
    for (const bool is_added : {true, false}) {
      for (std::size_t i = 0; i < form.terms.size(); ++i) {
        const IndexTerm& term = form.terms[is_added ? i : form.terms.size() - 1 - i];
        if ((term.coefficient > 0) != is_added) {
          continue;
        }
        scan_atom(program_.atoms[term.atom], loop, state);
        const std::int64_t literal = is_added ? term.coefficient : -term.coefficient;
        if (literal != 1) {
          state.leave_product(static_cast<double>(literal));
        }
        if (is_added && !is_first) {
          state.leave_sum();
        }
        is_first = false;
      }
      if (is_added && form.constant > 0 && !is_first) {
        state.leave_sum();
      }
    }
  }
  void scan_atom(const IndexAtom& atom, std::int32_t loop, Scan& state) const {
    if (atom.kind != AtomKind::loop) {
      scan(atom.a, loop, state);
      scan(atom.b, loop, state);
    } else if (atom.loop == loop) {
      state.visited = true;
      state.stride = 2;
    }
  }
  double coefficient(const IndexForm& form, std::int32_t loop) const {
    Scan state;
    scan(form, loop, state);
    return state.visited && !state.is_product && !state.is_sum ? 1.0 : state.stride;
  }
  double stride_of(const FeatureAccess& access, std::int32_t loop) const {
    if (access.rank == 0) {
      return 1;  // as the reference has it
    }
    double least = -1;
    for (std::size_t v = 0; v < num_vectors(access); ++v) {
      double later = 1;
      for (std::size_t d = access.rank; d-- > 0;) {
        const IndexForm& form = access.indices[v * access.rank + d];
        if (program_.atoms.uses_loop(form, loop)) {
          const double c = coefficient(form, loop);
          const double candidate = (c < 0 ? -c : c) * later;
          least = least < 0 ? candidate : smaller_of(least, candidate);
          break;
        }
        later *= static_cast<double>(length_of(access, d));
      }
    }
    return least < 0 ? 0 : least;
  }

  void reuse(const FeatureAccess& access, AccessFeatures& f) {
    double iterations = 1, bytes = -1;
    for (std::size_t p = store_.loops.size(); p-- > 0;) {
      const auto& table = touch_[store_.loops[p].table];
      const auto total = [&](bool one_element) {
        double sum = 0;
        for (const TouchTables::Entry& entry : table) {
          sum += (one_element ? 1.0 : entry.elements) * entry.element_bytes;
        }
        return sum;
      };
      bool used = false;
      for (const IndexForm& form : access.indices) {
        used = used || program_.atoms.uses_loop(form, store_.loops[p].loop);
      }
      if (!used) {
        f.reuse = ReuseKind::loop_multiple_read;
        f.reuse_dis_iter = iterations;
        f.reuse_dis_bytes = bytes < 0 ? total(true) : bytes;
        f.reuse_ct = extent(p);
        return;
      }
      iterations *= extent(p);
      bytes = total(false);
      double count = -1, least = 0;
      for (const TouchTables::Entry& entry : table) {
        if (entry.tensor == access.tensor) {
          least = count < 0 ? entry.elements : smaller_of(least, entry.elements);
          count += 1;
        }
      }
      if (count > 0) {
        f.reuse = ReuseKind::serial_multiple_read_write;
        f.reuse_dis_iter = least / extent(p);
        f.reuse_dis_bytes = bytes / extent(p);
        f.reuse_ct = count;
        return;
      }
    }
  }

  const StoreProgram& program_;
  const FeatureStore& store_;
  TouchTables& touch_;
  double line_;
  double outer_prod_ = 1;
  std::vector<std::int32_t> position_;  // by loop, -1 = not around the store
  std::vector<std::int64_t> region_;    // of the stored buffer in the whole nest
  std::vector<double> bytes_per_loop_;
};

}  // namespace detail
}  // namespace tensorsmith
