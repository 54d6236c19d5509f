// SPDX-License-Identifier: Apache-2.0
// stride_of: how many elements one iteration of a loop moves an access on.
//
// Floor 5. Ansor reference, ch. 6.4: by a heuristic that reads the indices from left to right.
#pragma once

#include <cstdint>
#include <optional>

#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

inline std::int64_t length_of(const StoreProgram& program, const FeatureAccess& access,
                              std::size_t dimension) {
  return access.pieces.empty() ? program.shape(access.tensor)[dimension] : access.pieces[dimension];
}

inline bool is_of_loop(const StoreProgram& program, const algebra::Node& node, std::int32_t loop) {
  return node.op == algebra::Op::var && has_item(program.loops[static_cast<std::size_t>(loop)].vars,
                                                 static_cast<std::int32_t>(node.value));
}

/// The last literal factor after the loop variable was met and before a plain addition wins.
struct StrideScan {
  bool visited = false, is_product = false, is_sum = false;
  double stride = 0;

  void read(const StoreProgram& program, algebra::Ref ref, std::int32_t loop) {
    const algebra::Pool& pool = program.pool;
    const algebra::Node& node = pool[ref];
    for (std::size_t i = 0; i < node.num_operands; ++i) {
      read(program, pool.operand(node, i), loop);
    }
    if (is_of_loop(program, node, loop)) {
      visited = true;
      stride = 2;
    } else if (node.op == algebra::Op::mul && visited && !is_sum) {
      for (const algebra::Ref factor : {node.a, node.b}) {
        if (pool.is_integer(factor)) {
          is_product = true;
          stride = static_cast<double>(pool.value(factor));
          break;
        }
      }
    } else if (node.op == algebra::Op::add && visited && !is_product) {
      is_sum = true;
      stride = 1;
    }
  }
  double factor() const {
    const double c = is_product || is_sum ? stride : 1.0;
    return c < 0 ? -c : c;
  }
};

/// The least of all places that the access names; nothing if none has the loop in its indices.
inline std::optional<double> stride_of(const StoreProgram& program, const FeatureAccess& access,
                                       std::int32_t loop) {
  std::optional<double> least;
  for (std::size_t first = 0; access.rank > 0 && first < access.indices.size();
       first += access.rank) {
    double later = 1;
    for (std::size_t d = access.rank; d-- > 0;) {
      StrideScan scan;
      scan.read(program, access.indices[first + d], loop);
      if (scan.visited) {
        const double stride = scan.factor() * later;
        least = least ? smaller_of(*least, stride) : stride;
        break;
      }
      later *= static_cast<double>(length_of(program, access, d));
    }
  }
  return least;
}

}  // namespace tensorsmith::detail
