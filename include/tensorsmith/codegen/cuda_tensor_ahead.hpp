// SPDX-License-Identifier: Apache-2.0
// Fragments that are loaded some steps ahead of the instructions that take them.
//
// Floor 5. Part of cuda_tensor.hpp. Own design (register double buffering, lower/load_ahead.hpp).
//     for k.1 in 4 with 2 sets of operands: for k in 16 as mma_m16n8k16_bf16: ...
//       -->  a[0], b[0] of step 0; for k.1, unrolled: if (k.1 < 3) a, b[(k.1 + 1) % 2] of k.1 + 1;
//            instructions on a, b[k.1 % 2]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/codegen/cuda_tensor.hpp"

namespace tensorsmith::detail {

/// Every step has the fragments of a set; those of the next ones are loaded in front of its
/// instructions. The loop is unrolled, so that sets are registers.
inline bool CudaTensorPrinter::warp_products_ahead(const For& steps) {
  const For* loop = program_.as<For>(steps.body);
  const LinearText extent = linear(steps.extent);
  if (steps.load_sets < 2 || loop == nullptr || loop->intrinsic == nullptr ||
      loop->intrinsic->ptx.empty() || loop->intrinsic->warps > 1 || !extent.is_constant() ||
      extent.constant < steps.load_sets) {
    return false;
  }
  const std::string step = names_.unique(program_.pool.var_name(steps.var));
  bind(steps.var, LinearText::of(step));
  const std::optional<Product> form = warp_form(*loop);
  if (!form) {
    names_.release(step);
    return false;
  }
  const Product& product = *form;
  const std::int64_t sets = steps.load_sets;  // no more than steps
  const std::string a = names_.unique("a_words"), b = names_.unique("b_words");
  const auto load_step = [&](const LinearText& at, const std::string& set) {
    bind(steps.var, at);
    load_fragments(product, true, a + set);
    load_fragments(product, false, b + set);
  };
  begin_product(product, *loop);
  open("");
  const std::string count = "[" + std::to_string(sets) + "][";
  line("unsigned " + a + count + std::to_string(num_fragments(product.of_a)) + "][4];");
  line("unsigned " + b + count + std::to_string(num_fragments(product.of_b)) + "][2];");
  for (std::int64_t first = 0; first + 1 < sets; ++first) {
    load_step(LinearText::of(first), "[" + std::to_string(first) + "]");
  }
  non_negative_.insert(step);
  const std::string number = std::to_string(sets), last = std::to_string(sets - 1);
  line("#pragma unroll");
  open("for (" + std::string(index_type_) + " " + step + " = 0; " + step + " < " +
       std::to_string(extent.constant) + "; ++" + step + ")");
  open("if (" + step + " < " + std::to_string(extent.constant - (sets - 1)) + ")");
  LinearText ahead = LinearText::of(step);
  ahead.constant = sets - 1;
  load_step(ahead, "[(" + step + " + " + last + ") % " + number + "]");
  close();
  const std::string set = "[" + step + " % " + number + "]";
  bind(steps.var, LinearText::of(step));
  std::vector<std::string> names;
  open_loops(product.of_a, names);
  open_loops(product.of_b, names);
  multiply(product, a + set + fragment_number(product.of_a),
           b + set + fragment_number(product.of_b));
  close_loops(names);
  close();
  close();
  for (const std::string* name : {&step, &a, &b}) {
    names_.release(*name);
  }
  return true;
}

}  // namespace tensorsmith::detail
