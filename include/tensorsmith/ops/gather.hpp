// SPDX-License-Identifier: Apache-2.0
// Gather: rows of a table by their numbers, as an embedding looks them up.
//
// Floor 3. Own design; ONNX's Gather along axis 0 and PyTorch's embedding, for numbers that are not
// negative. Verification draws numbers of rows that there are (te/index_values.hpp).
#pragma once

#include <string>

#include "tensorsmith/ops/workload_text.hpp"

namespace tensorsmith::ops {

/// out[n, c] = T[I[n], c]. Arguments: T [rows, columns], I [count], O [count, columns].
inline Workload gather(const GatherParams& p) {
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
