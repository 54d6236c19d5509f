// SPDX-License-Identifier: Apache-2.0
// MeasureTask: the arguments of a kernel, how to fill them, and what the outputs must be.
//
// Floor 6. Own design. One per workload, handed to Measurer::prepare once; candidates follow. The
// reference outputs come from the unscheduled program with f64 accumulation, computed by the
// caller.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ir/dtype.hpp"
#include "tensorsmith/measure/row_sample.hpp"
#include "tensorsmith/measure/tolerance.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith {

/// Values of an input. Floats are uniform in [low, high); integers uniform in the integers of
/// [low, high]. `bytes` not empty: exactly these, num_elements * bytes_of(dtype) of them.
struct InputFill {
  double low = -1;
  double high = 1;
  std::vector<std::byte> bytes;
  /// Neighbouring elements of a row as hard inputs see it, which are of one kind, and how many rows
  /// there are before a first one comes again; no elements: the values are the same in every draw.
  std::int64_t row_elements = 0;
  std::int64_t num_rows = 0;
  bool is_main = false;  ///< the input whose rows are of all kinds (hard_fill.hpp)
};

/// What a kernel is verified with beside the inputs that it is timed with: rows with a large mean,
/// constant ones, ties, a wide range, denormals, whole ranges of integers (`finite`); infinities
/// and NaN (`special`).
enum class HardDraw : std::uint8_t { finite, special };
inline constexpr int num_hard_draws = 2;

/// The result of one of them: values of the argument's reference_dtype and, for floats, a bound of
/// the error of each, f64 (1e250 or more: none is known), both of these rows.
struct HardReference {
  HardDraw draw = HardDraw::finite;
  RowSample rows;
  std::vector<std::byte> values;
  std::vector<std::byte> bounds;
};

/// A range for `dtype` under which sums of products neither overflow quickly nor vanish.
inline InputFill default_fill(DType dtype) {
  InputFill fill;
  if (dtype == DType::u8) {
    fill.low = 0;
    fill.high = 15;
  } else if (dtype == DType::boolean) {
    fill.low = 0;
    fill.high = 1;
  } else if (is_integer(dtype)) {
    fill.low = -8;
    fill.high = 8;
  }
  return fill;
}

struct KernelArgument {
  std::string name;
  DType dtype = DType::f32;
  std::int64_t num_elements = 0;
  bool is_output = false;

  InputFill fill;  ///< inputs only

  // Outputs only. An empty reference leaves the output unverified. With one of some rows the
  // elements of the others must be written, whatever they are (where a value of the type can tell:
  // floats, and integers of 32 bits or more).
  std::vector<std::byte> reference;
  RowSample reference_rows;
  DType reference_dtype = DType::f32;  ///< dtype itself, or f64 for a float output
  /// The values of the reference are followed by a bound for each, f64: how far what is right may
  /// be from it, where the tolerance says less (1e250 or more: none is known).
  bool has_bounds = false;
  OutputTolerance tolerance;
  /// In the order of the draws; all outputs of a task have the same ones.
  std::vector<HardReference> hard;

  std::int64_t num_bytes() const { return num_elements * bytes_of(dtype); }
  std::int64_t value_bytes() const {  ///< of the reference
    return reference_rows.elements_of(num_elements) * bytes_of(reference_dtype);
  }
  std::int64_t reference_bytes() const {
    const std::int64_t bound = has_bounds ? bytes_of(DType::f64) : 0;
    return value_bytes() + reference_rows.elements_of(num_elements) * bound;
  }
};

struct MeasureTask {
  std::vector<KernelArgument> arguments;  ///< in the order of the kernel's `args`
  std::uint64_t input_seed = 1;
  std::int32_t num_threads = 1;
  std::int32_t device = -1;      ///< number of the GPU that candidates run on; -1: the CPU
  std::int32_t vector_bits = 0;  ///< widest vectors of their code: of the peak, too; 0: any
  /// How long drawing the inputs may take; 0: as long as so many bytes take on a slow machine.
  std::int64_t max_prepare_ns = 0;

  std::int64_t num_bytes() const {
    std::int64_t sum = 0;
    for (const KernelArgument& argument : arguments) {
      sum += argument.num_bytes();
    }
    return sum;
  }
};

/// Empty if the task can be measured, else one sentence that names the argument.
TENSORSMITH_INLINE std::string check_task(const MeasureTask& task);

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/measure/task_body.hpp"
#endif
