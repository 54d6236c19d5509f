// SPDX-License-Identifier: Apache-2.0
// CudaTensorPrinter: loops that a warp computes by tensor-core instructions.
//
// Floor 5. Own design; fragments as in the PTX ISA, "Matrix Fragments for mma". A loop that carries
// an intrinsic says what one thread adds to its accumulators; the whole warp does all of them at
// once. So the loops are taken apart: which of them are the instruction's own (two accumulators in
// a row, two rows eight apart), which repeat it along a or along b. What does not have that form is
// printed as the loops it is.
//     for k in 16 as mma_m16n8k16_bf16: for i in 4: for j in 8: for r in 2: for c in 2: acc += a*b
//       -->  8 fragments of b; for i: 1 fragment of a; for j: 1 instruction
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/codegen/cuda_vector.hpp"
#include "tensorsmith/ir/tensor_match.hpp"

namespace tensorsmith::detail {

class CudaTensorPrinter : protected CudaVectorPrinter {
 protected:
  explicit CudaTensorPrinter(const LoopProgram& program) : CudaVectorPrinter(program) {}

  /// Prints the loop as instructions; false if it has another form, and then nothing is printed.
  bool warp_product(const For& loop);
  /// The same of a loop around such a loop, whose fragments are loaded ahead of the instructions.
  bool warp_products_ahead(const For& steps);
  /// A loop that four warps compute together, or a loop around one (cuda_warpgroup.hpp).
  bool warpgroup_products(const For& loop);
  /// The helper functions of the instructions that were printed.
  std::string instruction_helpers() const;

  VarId lane_var_;                ///< of threadIdx.x; invalid: the kernel has none
  std::int64_t lane_extent_ = 0;  ///< threads along it

 private:
  static constexpr std::int64_t warp = 32;
  struct TileLoop {
    VarId var;
    std::int64_t extent = 0, along_a = 0, along_b = 0;
  };
  /// How far apart elements of an operand are.
  struct Operand {
    const Load* load = nullptr;
    std::int64_t line = 0;  ///< rows of a, columns of b
    std::int64_t k = 0;
  };
  struct Product {
    const TensorIntrinsic* intrinsic = nullptr;
    const Store* store = nullptr;
    Operand a, b;
    TileLoop row, column;              ///< the instruction's own
    std::vector<TileLoop> of_a, of_b;  ///< that repeat it
  };

  std::optional<Product> warp_form(const For& loop);  // cuda_tensor_form.hpp
  /// How an operand of a warpgroup lies in lines of 128 bytes; bytes.
  struct SharedMatrix {
    bool is_transposed = false;           ///< lines run along rows of a, columns of b
    std::int64_t columns = 0, lines = 0;  ///< from 64 to the next 64, between eights of lines
  };
  std::optional<SharedMatrix> matrix_form(const Product& product, bool is_a,
                                          const std::vector<std::int64_t>& eights) const;
  std::string warpgroup_helpers() const;
  std::optional<std::int64_t> moved(const Load& load, const LinearText& base, VarId var,
                                    std::int64_t value) {
    bind(var, LinearText::of(value));
    LinearText difference = offset(load.buffer, load.indices);
    bind(var, LinearText::of(0));
    difference.add(base, -1);
    return difference.is_constant() ? std::optional(difference.constant) : std::nullopt;
  }
  void open_loops(const std::vector<TileLoop>& loops, std::vector<std::string>& names);
  void close_loops(std::vector<std::string>& names);
  void load_fragment(const Product& product, bool is_a, const std::string& words);
  /// All fragments of a or b into an array of them; loops of the product have their text at the
  /// end.
  void load_fragments(const Product& product, bool is_a, const std::string& array);
  /// The instruction for every pair of fragments.
  void multiply(const Product& product, const std::string& a, const std::string& b);
  /// The number of a fragment among those of its operand, as an index.
  std::string fragment_number(const std::vector<TileLoop>& loops) const {
    LinearText at;
    for (const TileLoop& inner : loops) {
      LinearText next;
      next.add(at, inner.extent);
      next.add(bound(inner.var), 1);
      at = std::move(next);
    }
    return "[" + at.print().text + "]";
  }
  static std::int64_t num_fragments(const std::vector<TileLoop>& loops) {
    std::int64_t count = 1;
    for (const TileLoop& inner : loops) {
      count *= inner.extent;
    }
    return count;
  }
  void begin_product(const Product& product, const For& loop);

  std::vector<const TensorIntrinsic*> used_;
  struct WarpgroupCall {
    const TensorIntrinsic* intrinsic = nullptr;
    std::int64_t columns = 0;
    bool is_a_transposed = false, is_b_transposed = false;
    bool operator==(const WarpgroupCall&) const = default;
    /// Its name, with the template's arguments.
    std::string function() const {
      const auto flag = [](bool is_true) { return is_true ? ", true" : ", false"; };
      return std::string(intrinsic->name) + "<" + std::to_string(columns) + flag(is_a_transposed) +
             flag(is_b_transposed) + ">";
    }
  };
  std::vector<WarpgroupCall> calls_;
};

inline void CudaTensorPrinter::open_loops(const std::vector<TileLoop>& loops,
                                          std::vector<std::string>& names) {
  for (const TileLoop& inner : loops) {
    names.push_back(names_.unique(program_.pool.var_name(inner.var)));
    non_negative_.insert(names.back());
    bind(inner.var, LinearText::of(names.back()));
    line("#pragma unroll");
    open("for (" + std::string(index_type_) + " " + names.back() + " = 0; " + names.back() + " < " +
         std::to_string(inner.extent) + "; ++" + names.back() + ")");
  }
}

inline void CudaTensorPrinter::close_loops(std::vector<std::string>& names) {
  while (!names.empty()) {
    close();
    names_.release(names.back());
    names.pop_back();
  }
}

/// The words of one fragment; loops are bound to their names.
inline void CudaTensorPrinter::load_fragment(const Product& product, bool is_a,
                                             const std::string& words) {
  const Operand& operand = is_a ? product.a : product.b;
  const DType type = is_a ? product.intrinsic->a : product.intrinsic->b;
  const BufferId buffer = operand.load->buffer;
  const std::int64_t bytes = bytes_of(type), per_word = 4 / bytes, half = 16 / bytes;
  const LinearText lane = bound(lane_var_);
  const std::string thread = lane.print().text;
  bind(lane_var_, LinearText::of(0));
  const LinearText base = offset(buffer, operand.load->indices);
  bind(lane_var_, lane);
  const auto is_multiple = [&](std::int64_t of, std::int64_t step) {
    bool fits = base.constant % of == 0 && step % of == 0;
    for (const auto& [text, coefficient] : base.terms) {
      fits = fits && coefficient % of == 0;
    }
    return fits;
  };
  const auto with = [&](std::vector<std::pair<std::string, std::int64_t>> terms) {
    LinearText sum = base;
    for (const auto& [text, coefficient] : terms) {
      sum.add_term(text, coefficient);
    }
    return name(buffer) + " + " + sum.print().within(CText::add);
  };
  const bool is_shared = program_[buffer].scope == Scope::shared;
  const auto in = [&](const char* what) { return "(" + thread + what + ")"; };
  if (is_shared && operand.k == 1 && is_multiple(half, operand.line)) {
    line(is_a ? "load_matrices(" + words + ", " +
                    with({{in(" % 16"), operand.line}, {in(" / 16"), half}}) + ");"
              : "load_matrices(" + words + ", " +
                    with({{in(" % 8"), operand.line}, {in(" / 8 % 2"), half}}) + ");");
    return;
  }
  if (is_shared && !is_a && operand.line == 1 && bytes == 2 && is_multiple(half, operand.k)) {
    line("load_transposed_matrices(" + words + ", " + with({{in(" % 16"), operand.k}}) + ");");
    return;
  }
  const bool is_word = operand.k == 1 && is_multiple(per_word, operand.line);
  for (std::int64_t w = 0; w < (is_a ? 4 : 2); ++w) {
    const std::int64_t rows = is_a ? w % 2 * 8 * operand.line : 0;
    const std::int64_t depth = (is_a ? w / 2 : w) * half * operand.k;
    LinearText place;
    place.constant = rows + depth;
    place.add_term(in(" / 4"), operand.line);
    place.add_term(in(" % 4"), per_word * operand.k);
    place.add(base, 1);
    const std::string address = name(buffer) + " + " + place.print().within(CText::add);
    line(words + "[" + std::to_string(w) + "] = " +
         (is_word ? "word_at(" + address + ");"
                  : "gathered_word(" + address + ", " + std::to_string(operand.k) + ");"));
  }
}

/// Its helper is printed; its loops begin at 0.
inline void CudaTensorPrinter::begin_product(const Product& product, const For& loop) {
  if (product.intrinsic->warps == 1 && !has_item(used_, product.intrinsic)) {
    used_.push_back(product.intrinsic);
  }
  for (const TileLoop* own : {&product.row, &product.column}) {
    bind(own->var, LinearText::of(0));
  }
  for (const auto* loops : {&product.of_a, &product.of_b}) {
    for (const TileLoop& inner : *loops) {
      bind(inner.var, LinearText::of(0));
    }
  }
  bind(loop.var, LinearText::of(0));
}

inline void CudaTensorPrinter::load_fragments(const Product& product, bool is_a,
                                              const std::string& array) {
  const std::vector<TileLoop>& loops = is_a ? product.of_a : product.of_b;
  std::vector<std::string> names;
  open_loops(loops, names);
  load_fragment(product, is_a, array + fragment_number(loops));
  close_loops(names);
  for (const TileLoop& inner : loops) {
    bind(inner.var, LinearText::of(0));
  }
}

/// `a` and `b`: the words of the fragments whose loops are open.
inline void CudaTensorPrinter::multiply(const Product& product, const std::string& a,
                                        const std::string& b) {
  std::string operands;
  for (std::int64_t r = 0; r < 4; ++r) {
    bind(product.row.var, LinearText::of(r / 2));
    bind(product.column.var, LinearText::of(r % 2));
    operands += element(product.store->buffer, product.store->indices) + ", ";
  }
  for (const TileLoop* own : {&product.row, &product.column}) {
    bind(own->var, LinearText::of(0));
  }
  line(std::string(product.intrinsic->name) + "(" + operands + a + ", " + b + ");");
}

inline bool CudaTensorPrinter::warp_product(const For& loop) {
  const std::optional<Product> form = loop.intrinsic->warps == 1 ? warp_form(loop) : std::nullopt;
  if (!form) {
    return false;
  }
  const Product& product = *form;
  const std::string a = names_.unique("a_words"), b = names_.unique("b_words");
  begin_product(product, loop);
  open("");
  line("unsigned " + b + "[" + std::to_string(num_fragments(product.of_b)) + "][2];");
  load_fragments(product, false, b);
  std::vector<std::string> names, inner_names;
  open_loops(product.of_a, names);
  line("unsigned " + a + "[4];");
  load_fragment(product, true, a);
  open_loops(product.of_b, inner_names);
  multiply(product, a, b + fragment_number(product.of_b));
  close_loops(inner_names);
  close_loops(names);
  close();
  names_.release(a);
  names_.release(b);
  return true;
}

inline std::string CudaTensorPrinter::instruction_helpers() const {
  std::string text = warpgroup_helpers();
  for (const TensorIntrinsic* intrinsic : used_) {
    const bool is_real = is_float(intrinsic->accumulator);
    const std::string type(c_type(intrinsic->accumulator, CDialect::cuda));
    const std::string c = is_real ? "\"+f\"" : "\"+r\"";
    text += "__device__ __forceinline__ void " + std::string(intrinsic->name) + "(" + type +
            "& c0, " + type + "& c1, " + type + "& c2, " + type +
            "& c3, const unsigned (&a)[4],\n    const unsigned (&b)[2]) {\n  asm volatile(\"" +
            std::string(intrinsic->ptx) +
            " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"
            "               : " +
            c + "(c0), " + c + "(c1), " + c + "(c2), " + c +
            "(c3)\n               : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), "
            "\"r\"(b[0]), \"r\"(b[1]));\n}\n\n";
  }
  return text.empty() ? text : "#ifndef TENSORSMITH_CUDA_SHIM\n" + text + "#endif\n\n";
}

}  // namespace tensorsmith::detail

#include "tensorsmith/codegen/cuda_tensor_ahead.hpp"
#include "tensorsmith/codegen/cuda_tensor_form.hpp"
#include "tensorsmith/codegen/cuda_warpgroup.hpp"
