// SPDX-License-Identifier: Apache-2.0
// The definitions of felix_rows.hpp.
//
// Floor 5. Included by feature/felix_rows.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <string>
#include <vector>

#include "tensorsmith/feature/felix_nests.hpp"
#include "tensorsmith/feature/felix_row.hpp"
#include "tensorsmith/feature/felix_rows.hpp"
#include "tensorsmith/feature/prepared_tensors.hpp"

namespace tensorsmith {
namespace detail {

/// Of several stores to a buffer the last counts.
template <class LeftOut>
FelixRows felix_rows(const StoreProgram& program, const std::vector<std::string>& names,
                     double line_bytes, const LeftOut& is_left_out) {
  FelixNests nests(program, names);
  FelixRows result;
  std::vector<std::vector<double>> rows;
  for (const FeatureStore& store : program.stores) {
    if (!nests.is_seen(store.tensor) || is_left_out(store.tensor)) {
      continue;
    }
    const FelixStore<double> read = nests.read(store);
    const auto touched = [&](std::size_t p) -> const FelixNests::Touches& {
      return nests.touched(store.loops[p]);
    };
    std::size_t at = 0;
    while (at < result.tensors.size() && result.tensors[at] != store.tensor) {
      ++at;
    }
    if (at == result.tensors.size()) {
      result.tensors.push_back(store.tensor);
      rows.emplace_back();
    }
    const FeatureAllocation* allocation = program.allocation(store.tensor);
    FelixAllocation<double> sizes{};
    if (allocation != nullptr) {
      sizes = nests.allocation_of(*allocation, store);
    }
    const PlainNumbers numbers;
    rows[at] =
        FelixRow(numbers, read, touched, line_bytes).run(allocation == nullptr ? nullptr : &sizes);
  }
  for (const std::vector<double>& row : rows) {
    for (const double value : row) {
      result.values.push_back(static_cast<float>(value));
    }
  }
  result.is_known = nests.is_known();
  return result;
}

}  // namespace detail

TENSORSMITH_INLINE FelixRows felix_rows_of(const ProgramView& view, const FeatureContext& context) {
  const auto& stores = view.part<store_program_of>(context);
  if (!stores) {
    return {};
  }
  std::vector<std::string> names;
  for (const FeatureLoop& loop : stores->loops) {
    names.push_back(view.state()
                        .stage(static_cast<std::size_t>(loop.stage))
                        .iterators[static_cast<std::size_t>(loop.iterator)]
                        .name);
  }
  return detail::felix_rows(*stores, names, context.rows.cache_line_bytes,
                            detail::PreparedTensors(view.state(), *stores, context.rows));
}

}  // namespace tensorsmith
