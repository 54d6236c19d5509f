// A kernel of ours with operands of its own, as one call.
//
// Own design. Constants are packed once, outside of what is timed. Not here: timing (paired.hpp).
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/aligned_buffer.hpp"
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

/// Our kernel with its constants packed, as one call. The operands must outlive it.
struct PackedKernel {
  Kernel kernel;
  std::vector<AlignedBuffer> packed;
  std::vector<void*> pointers;  // of the kernel

  void operator()() const { kernel.call_unchecked(pointers.data()); }

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
