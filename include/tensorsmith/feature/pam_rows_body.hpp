// SPDX-License-Identifier: Apache-2.0
// The definitions of pam_rows.hpp.
//
// Floor 5. Included by feature/pam_rows.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <span>
#include <vector>

#include "tensorsmith/feature/access_sequence.hpp"
#include "tensorsmith/feature/feature_rows.hpp"
#include "tensorsmith/feature/pam_rows.hpp"
#include "tensorsmith/feature/prepared_tensors.hpp"

namespace tensorsmith {
namespace detail {

/// Pruner, ch. 3.5: the iterations count twice in the operations.
inline void write_dataflow(std::span<float> out, const StoreProgram& program,
                           const FeatureStore& store, double outer_prod, TensorId tensor,
                           const AccessFeatures& access, FeatureScale scale) {
  const FeatureAllocation* allocation = program.allocation(tensor);
  out[0] = scale(store.counts.num_float() * outer_prod * outer_prod);
  out[1 + static_cast<std::size_t>(scope_of(program, tensor))] = 1;
  write_access(out.subspan(4, num_buffer_columns), access, scale);
  out[dataflow_columns - 1] = scale(allocation == nullptr || allocation->is_scratch
                                        ? 0
                                        : allocation->elements * bytes_of(program.dtype(tensor)));
}

template <class LeftOut>
PamRows pam_rows(const StoreProgram& program, const FeatureOptions& given,
                 const LeftOut& is_left_out) {
  const FeatureOptions options = given.as_tenset();
  const FeatureScale scale{options.is_log_scaled};
  const std::size_t match = dataflow_match(access_digits(program, is_left_out));
  std::size_t next = 0;  // position in the sequence
  PamRows rows;
  rows.statements = feature_rows(
      program, options, is_left_out,
      [&](const FeatureStore& store, double outer_prod,
          const std::vector<AccessFeatures>& accesses) {
        for (std::size_t i = 0; i < accesses.size(); ++i, ++next) {
          if (match != std::string::npos && next >= match && next < match + dataflow_rows) {
            write_dataflow(std::span<float>(rows.dataflow)
                               .subspan((next - match) * dataflow_columns, dataflow_columns),
                           program, store, outer_prod,
                           store.accesses[store.accesses.size() - 1 - i].tensor, accesses[i],
                           scale);
          }
        }
      });
  return rows;
}

}  // namespace detail

TENSORSMITH_INLINE PamRows pam_rows_of(const ProgramView& view, const FeatureContext& context) {
  const auto& stores = view.part<store_program_of>(context);
  if (!stores) {
    return {};
  }
  return detail::pam_rows(*stores, context.rows,
                          detail::PreparedTensors(view.state(), *stores, context.rows));
}

}  // namespace tensorsmith
