// SPDX-License-Identifier: Apache-2.0
// The definitions of gather.hpp.
//
// Floor 3. Included by ops/gather.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <string>

#include "tensorsmith/ops/gather.hpp"
#include "tensorsmith/ops/workload_text.hpp"

namespace tensorsmith::ops {

TENSORSMITH_INLINE Workload gather(const GatherParams& p) {
  const std::string op = "gather";
  detail::require_positive(op, "number of rows to gather", p.count);
  detail::require_positive(op, "number of rows", p.rows);
  detail::require_positive(op, "number of columns", p.columns);
  if (p.dtype == DType::boolean) {
    detail::misuse(op, "a number type", std::string(name_of(p.dtype)));
  }
  if (p.indices != DType::i32 && p.indices != DType::i64) {
    detail::misuse(op, "indices of i32 or i64", std::string(name_of(p.indices)));
  }
  te::Program program;
  const te::Tensor table = program.placeholder("T", {p.rows, p.columns}, p.dtype);
  const te::Tensor indices = program.placeholder("I", {p.count}, p.indices);
  const te::Tensor out =
      program.compute("O", {p.count, p.columns},
                      [&](auto n, auto c) { return table(indices(n), c); }, {{"n", "c"}, {}, {}});
  Workload workload;
  workload.kind = kind_of(p);
  workload.name = canonical_text(p);
  workload.params = p;
  workload.dag = program.dag({table, indices, out});
  workload.nominal_flop = static_cast<double>(p.count) * static_cast<double>(p.columns);
  return workload;
}

}  // namespace tensorsmith::ops
