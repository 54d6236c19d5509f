// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "tensorsmith/kernel.hpp"

namespace tensorsmith {
namespace {

bool overlap(const KernelOperand& a, const KernelParameter& of_a, const KernelOperand& b,
             const KernelParameter& of_b) {
  const auto begin_a = reinterpret_cast<std::uintptr_t>(a.data),
             begin_b = reinterpret_cast<std::uintptr_t>(b.data);
  const auto size = [](const KernelParameter& parameter) {
    return static_cast<std::uintptr_t>(parameter.num_elements * bytes_of(parameter.dtype));
  };
  return begin_a < begin_b + size(of_b) && begin_b < begin_a + size(of_a);
}

}  // namespace

std::string check_operands(const KernelSignature& signature,
                           std::span<const KernelOperand> operands) {
  return check_operands(std::span<const KernelParameter>(signature.parameters), operands);
}

std::string check_operands(std::span<const KernelParameter> parameters,
                           std::span<const KernelOperand> operands) {
  if (operands.size() != parameters.size()) {
    return "the kernel takes " + std::to_string(parameters.size()) + " arguments, got " +
           std::to_string(operands.size());
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const KernelParameter& parameter = parameters[i];
    const KernelOperand& operand = operands[i];
    const std::string who = "argument " + std::to_string(i) + " '" + parameter.name + "': ";
    const bool is_narrow_float = parameter.dtype == DType::f16 || parameter.dtype == DType::bf16;
    const bool is_bytes = operand.is_raw && operand.element_bytes == 1;
    if (operand.is_raw ? !is_narrow_float && !is_bytes : operand.dtype != parameter.dtype) {
      return who + "elements must be " + std::string(name_of(parameter.dtype)) + ", are " +
             (operand.is_raw ? "16 bits wide" : std::string(name_of(operand.dtype)));
    }
    const std::int64_t expected =
        is_bytes ? parameter.num_elements * bytes_of(parameter.dtype) : parameter.num_elements;
    if (operand.num_elements != expected) {
      return who + "expected " + std::to_string(expected) + (is_bytes ? " bytes" : " elements") +
             ", got " + std::to_string(operand.num_elements);
    }
    if (operand.data == nullptr && expected > 0) {
      return who + "there is no memory (a null pointer)";
    }
    const auto element = static_cast<std::uintptr_t>(bytes_of(parameter.dtype));
    if (reinterpret_cast<std::uintptr_t>(operand.data) % element != 0) {
      return who + "the memory must be aligned to the " + std::to_string(element) +
             " bytes of its elements";
    }
    if (parameter.is_output && operand.is_constant) {
      return who + "is an output, but its elements are const";
    }
    for (std::size_t j = 0; parameter.is_output && j < operands.size(); ++j) {
      if (j != i && overlap(operand, parameter, operands[j], parameters[j]) &&
          !(parameters[j].is_overwritable && operands[j].data == operand.data)) {
        return who + "overlaps argument " + std::to_string(j) + " '" + parameters[j].name +
               "', which this kernel cannot leave its result in";
      }
    }
  }
  return {};
}

}  // namespace tensorsmith
