// SPDX-License-Identifier: Apache-2.0
// PsaAccesses: how a store's accesses reach memory, as the draft PSA by bytes counts them.
//
// Floor 5. Own design. Addresses are those of a warp's 32 lanes at the first iteration of all other
// loops; what one lane reads in a row of neighbouring elements is one access of that width. Loops
// that an access does not depend on do not repeat it: registers or the nearest memory hold it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/feature/access_sequence.hpp"
#include "tensorsmith/feature/annotation.hpp"
#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/ir/algebra/bounds.hpp"
#include "tensorsmith/sched/apply/annotation.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/floor_div.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith::detail {

/// Of one thread or one warp, all iterations.
struct PsaAccess {
  double held = 1;          ///< elements that it and the result depend on: registers
  double instructions = 1;  ///< of at most 16 bytes
  double sectors = 1;       ///< of 32 bytes, of one warp
  double lines = 1;         ///< of 128 bytes, or four sectors, by one warp's instructions
  double passes = 1;        ///< of one warp through the 32 banks of shared memory
  double warps = 1;         ///< of a block
};

class PsaAccesses {
 public:
  PsaAccesses(const StoreProgram& program, const FeatureStore& store,
              algebra::Remembered<algebra::Bound>& known)
      : program_(program), store_(store), bounds_(program.pool, known) {
    for (std::size_t p = 0; p < store.loops.size(); ++p) {
      bind(p, 0, 0);
    }
  }

  /// Of one thread; of a CPU, of all.
  double iterations() const {
    double product = 1;
    for (std::size_t p = 0; p < store_.loops.size(); ++p) {
      product *= is_bound(p) ? 1.0 : extent(p);
    }
    return product;
  }

  PsaAccess of(const FeatureAccess& access, double num_threads) {
    PsaAccess found;
    const auto element = static_cast<std::int64_t>(bytes_of(program_.dtype(access.tensor)));
    const std::int64_t start = address(access);
    std::int64_t width = 1;       // neighbouring elements of one thread
    std::int64_t vectorized = 1;  // those of one instruction, as far as the schedule says
    double times = 1;             // that it starts anew
    for (std::size_t p = store_.loops.size(); p-- > 0;) {
      if (is_bound(p) || extent(p) <= 1) {
        continue;
      }
      const bool is_virtual = loop(p).annotation == Annotation::vthread;
      const std::int64_t step = is_virtual ? 0 : step_of(access, p, start);
      const auto count = is_virtual  ? num_distinct(access, p)
                         : step == 0 ? 1
                                     : static_cast<std::int64_t>(extent(p));
      if (count == 1) {
        continue;
      }
      if (step == width && times == 1) {
        width *= count;
        vectorized = loop(p).annotation == Annotation::vectorize ? width : vectorized;
      } else {
        times *= static_cast<double>(count);
      }
      const FeatureAccess& result = store_.accesses[0];
      const bool is_in_result = is_virtual || step_of(result, p, address(result)) != 0;
      found.held *= is_in_result ? static_cast<double>(count) : 1.0;
    }
    // Only of shared memory does the compiler know that neighbours may be read together.
    const bool is_merged = scope_of(program_, access.tensor) == FeatureScope::shared;
    const std::int64_t together =
        smaller_of<std::int64_t>((is_merged ? width : vectorized) * element, most_vector_bytes);
    const double in_row = static_cast<double>(width * element);
    found.instructions = times * math::ceil(in_row / static_cast<double>(together));
    found.warps = math::ceil(num_threads / 32);
    const auto lanes = static_cast<std::int64_t>(smaller_of(32.0, num_threads));
    // A line stays in L1 until the lanes have read all of it.
    const std::int64_t window = smaller_of<std::int64_t>(width * element, line_bytes);
    const LaneTouch row = touched_by_lanes(access, lanes, element, window, start);
    const LaneTouch one = touched_by_lanes(access, lanes, element, together, start);
    found.sectors = times * row.sectors * in_row / static_cast<double>(window);
    found.lines = found.instructions * larger_of(one.lines, one.sectors / 4);
    found.passes = found.instructions * one.passes;
    return found;
  }

  /// Bytes that come from beyond a cache: the largest part of the nest whose accesses it holds
  /// fetches them anew each time that it begins.
  double bytes_beyond(double cache_bytes) {
    const std::size_t depth = store_.loops.size();
    double bytes = footprint(), outer = iterations();
    for (std::size_t p = depth; p-- > 0;) {
      bind(p, 0, static_cast<std::int64_t>(extent(p)) - 1);
      const double more = footprint();
      if (more > cache_bytes) {
        break;
      }
      bytes = more;
      outer /= extent(p);
    }
    for (std::size_t p = 0; p < depth; ++p) {
      bind(p, 0, 0);
    }
    return bytes * outer;
  }

 private:
  static constexpr std::int64_t most_vector_bytes = 16, line_bytes = 128;

  const FeatureLoop& loop(std::size_t p) const {
    return program_.loops[static_cast<std::size_t>(store_.loops[p].loop)];
  }
  double extent(std::size_t p) const { return loop(p).constant_extent(); }
  bool is_bound(std::size_t p) const {
    const Annotation annotation = loop(p).annotation;
    return is_thread_annotation(annotation) && annotation != Annotation::vthread;
  }
  void bind(std::size_t p, std::int64_t first, std::int64_t last) {
    for (const std::int32_t var : loop(p).vars) {
      bounds_.bind(var, algebra::Bound{first, last});
    }
  }
  std::size_t rank_of(const FeatureAccess& access) const {
    return smaller_of(access.rank, access.pieces.empty() ? program_.shape(access.tensor).size()
                                                         : access.pieces.size());
  }
  std::int64_t length_of(const FeatureAccess& access, std::size_t d) const {
    return access.pieces.empty() ? program_.shape(access.tensor)[d] : access.pieces[d];
  }
  /// In elements; an index that is not known, such as one that is read, counts as 0.
  std::int64_t address(const FeatureAccess& access) const {
    std::int64_t sum = 0;
    for (std::size_t d = 0; d < rank_of(access); ++d) {
      const algebra::Bound index = bounds_(access.indices[d]);
      sum = wrapping_add(wrapping_mul(sum, length_of(access, d)),
                         index.is_constant() ? index.min : 0);
    }
    return sum;
  }
  std::int64_t step_of(const FeatureAccess& access, std::size_t p, std::int64_t start) {
    bind(p, 1, 1);
    const std::int64_t step = wrapping_sub(address(access), start);
    bind(p, 0, 0);
    return step < 0 ? -step : step;
  }
  /// Places that the iterations of one loop touch: fused virtual threads share some.
  std::int64_t num_distinct(const FeatureAccess& access, std::size_t p) {
    std::vector<std::int64_t> places;
    const auto count = static_cast<std::int64_t>(extent(p));
    for (std::int64_t i = 0; i < count; ++i) {
      bind(p, i, i);
      places.push_back(address(access));
    }
    bind(p, 0, 0);
    sort_items(places);
    return num_different(places, 1);
  }
  double footprint() const {
    double bytes = 0;
    for (const FeatureAccess& access : store_.accesses) {
      double elements = 1;
      for (std::size_t d = 0; d < rank_of(access); ++d) {
        const algebra::Bound index = bounds_(access.indices[d]);
        const double width = static_cast<double>(index.max) - static_cast<double>(index.min) + 1;
        elements *= smaller_of(width, static_cast<double>(length_of(access, d)));
      }
      bytes += elements * bytes_of(program_.dtype(access.tensor));
    }
    return bytes;
  }
  struct LaneTouch {
    double sectors = 1, lines = 1;  ///< of 32 and 128 bytes, under all lanes
    double passes = 1;              ///< words of the bank that most of them want
  };
  LaneTouch touched_by_lanes(const FeatureAccess& access, std::int64_t num_lanes,
                             std::int64_t element, std::int64_t bytes, std::int64_t start) {
    std::vector<std::int64_t> words;
    for (std::int64_t lane = 0; lane < num_lanes; ++lane) {
      set_lane(lane);
      // Far above 0: no negative ones.
      const std::int64_t at = (address(access) - start) * element + (std::int64_t{1} << 40);
      for (std::int64_t byte = at; byte < at + bytes; byte += 4) {
        words.push_back(byte / 4);
      }
    }
    set_lane(0);
    sort_items(words);
    std::array<std::int32_t, 32> of_bank{};
    std::int32_t most = 1;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i == 0 || words[i] != words[i - 1]) {
        most = larger_of(most, ++of_bank[static_cast<std::size_t>(words[i] % 32)]);
      }
    }
    return {static_cast<double>(num_different(words, 32 / 4)),
            static_cast<double>(num_different(words, line_bytes / 4)), static_cast<double>(most)};
  }
  /// Groups of `size` numbers side by side that these, in ascending order, are of.
  static std::int64_t num_different(const std::vector<std::int64_t>& sorted, std::int64_t size) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      count += i == 0 || floor_div(sorted[i], size) != floor_div(sorted[i - 1], size) ? 1 : 0;
    }
    return count;
  }
  void set_lane(std::int64_t lane) {
    for (const Annotation axis :
         {Annotation::thread_x, Annotation::thread_y, Annotation::thread_z}) {
      std::int64_t length = 1;
      for (std::size_t p = 0; p < store_.loops.size(); ++p) {
        if (loop(p).annotation == axis) {
          length = loop(p).extent;
        }
      }
      for (std::size_t p = 0; p < store_.loops.size(); ++p) {
        if (loop(p).annotation == axis) {
          bind(p, lane % length, lane % length);
        }
      }
      lane /= length;
    }
  }

  const StoreProgram& program_;
  const FeatureStore& store_;
  algebra::Bounds bounds_;
};

}  // namespace tensorsmith::detail
