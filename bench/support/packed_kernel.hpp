// SPDX-License-Identifier: Apache-2.0
// A kernel of ours with operands of its own, as one call.
//
// Own design. Constants are packed once, outside of what is timed. Not here: timing (paired.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/aligned_buffer.hpp"
#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/kernel.hpp"

namespace tensorsmith::bench {

/// Our arguments in the dag's order.
struct Operands {
  std::vector<AlignedBuffer> storage;
  std::vector<void*> pointers;
  std::vector<float*> inputs;
  float* output = nullptr;

  explicit Operands(const std::vector<KernelParameter>& parameters) {
    for (const KernelParameter& parameter : parameters) {
      const std::int64_t bytes = parameter.num_elements * bytes_of(parameter.dtype);
      storage.emplace_back((bytes + 3) / 4);
      float* data = storage.back().data();
      pointers.push_back(data);
      if (parameter.is_output) {
        output = output == nullptr ? data : output;
        continue;
      }
      if (parameter.dtype == DType::f32) {
        storage.back().fill_random(storage.size());
      }
      inputs.push_back(data);
    }
  }
};

/// Fills operands of bytes or bf16 with numbers whose sums are exact in f32, the zero point with 3
/// and scales with what keeps most results within a byte; the same numbers as f32.
struct NarrowOperands {
  std::vector<AlignedBuffer> numbers;
  std::vector<float*> inputs;
  float* output = nullptr;
  KernelParameter result;
  const void* written = nullptr;

  NarrowOperands(const std::vector<KernelParameter>& parameters, Operands& operands) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const KernelParameter& parameter = parameters[i];
      numbers.emplace_back(parameter.num_elements);
      AlignedBuffer& values = numbers.back();
      if (parameter.is_output) {
        output = values.data();
        result = parameter;
        written = operands.pointers[i];
        std::memset(operands.pointers[i], 0xA5,  // what is not written fails
                    static_cast<std::size_t>(parameter.num_elements * bytes_of(parameter.dtype)));
        continue;
      }
      values.fill_random(i + 1);
      for (std::int64_t e = 0; e < values.size(); ++e) {
        values[e] = number(parameter.dtype, values[e]);
        store(parameter.dtype, operands.pointers[i], e, values[e]);
      }
      inputs.push_back(values.data());
    }
  }
  /// The kernel's result as f32.
  void write_output() const {
    for (std::int64_t e = 0; e < result.num_elements; ++e) {
      output[e] = load(e);
    }
  }

 private:
  float load(std::int64_t at) const {
    const auto* from = static_cast<const std::byte*>(written) + at * bytes_of(result.dtype);
    const Scalar value = load_scalar(from, result.dtype);
    return static_cast<float>(cast_scalar(value, result.dtype, DType::f64).real);
  }
  static float number(DType type, float uniform) {  // in [-1, 1)
    switch (type) {
    case DType::u8:
      return static_cast<float>(static_cast<int>(uniform * 8 + 8));
    case DType::i8:
      return static_cast<float>(static_cast<int>(uniform * 8));
    case DType::i32:
      return 3;
    case DType::bf16:  // 7 bits
      return static_cast<float>(static_cast<int>(uniform * 64)) / 64;
    default:
      return (uniform + 1) / 64;
    }
  }
  static void store(DType type, void* to, std::int64_t at, float value) {
    store_scalar(static_cast<std::byte*>(to) + at * bytes_of(type), type,
                 cast_scalar(scalar_of_real(double{value}), DType::f64, type));
  }
};

/// Our kernel with its constants packed, as one call. The operands must outlive it.
struct PackedKernel {
  Kernel kernel;
  std::vector<AlignedBuffer> packed;
  std::vector<void*> pointers;  // of the kernel

  void operator()() const { kernel.call_unchecked(pointers.data()); }

  /// From now on the input of that name is read where the result goes. False: the kernel cannot.
  bool read_in_place(const std::string& input, void* result) {
    const std::vector<KernelParameter>& parameters = kernel.signature().parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].name == input && parameters[i].is_overwritable) {
        pointers[i] = result;
        return true;
      }
    }
    return false;
  }

  PackedKernel(Kernel its_kernel, const std::vector<KernelParameter>& parameters,
               const Operands& operands)
      : kernel(std::move(its_kernel)) {
    const KernelSignature& signature = kernel.signature();
    std::vector<std::pair<std::string, void*>> known;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      known.emplace_back(parameters[i].name, operands.pointers[i]);
    }
    const auto find = [&known](const std::vector<KernelParameter>& wanted) {
      std::vector<void*> found;
      for (const KernelParameter& parameter : wanted) {
        const auto at = std::find_if(known.begin(), known.end(), [&](const auto& entry) {
          return entry.first == parameter.name;
        });
        found.push_back(at->second);
      }
      return found;
    };
    for (const KernelParameter& parameter : signature.prepack_parameters) {
      if (parameter.is_output) {
        packed.emplace_back((parameter.num_elements * bytes_of(parameter.dtype) + 3) / 4);
        known.emplace_back(parameter.name, packed.back().data());
      }
    }
    if (!signature.prepack_entry.empty()) {
      kernel.prepack_unchecked(find(signature.prepack_parameters).data());
    }
    pointers = find(signature.parameters);
  }
};

}  // namespace tensorsmith::bench
