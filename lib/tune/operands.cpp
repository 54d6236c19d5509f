#include <cstdint>

#include "tensorsmith/kernel.hpp"

namespace tensorsmith {

std::string check_operands(const KernelSignature& signature,
                           std::span<const KernelOperand> operands) {
  if (operands.size() != signature.parameters.size()) {
    return "the kernel takes " + std::to_string(signature.parameters.size()) + " arguments, got " +
           std::to_string(operands.size());
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const KernelParameter& parameter = signature.parameters[i];
    const KernelOperand& operand = operands[i];
    const std::string who = "argument " + std::to_string(i) + " '" + parameter.name + "': ";
    const bool is_narrow_float = parameter.dtype == DType::f16 || parameter.dtype == DType::bf16;
    if (operand.is_raw ? !is_narrow_float : operand.dtype != parameter.dtype) {
      return who + "elements must be " + std::string(name_of(parameter.dtype)) + ", are " +
             (operand.is_raw ? "16 bits wide" : std::string(name_of(operand.dtype)));
    }
    if (operand.num_elements != parameter.num_elements) {
      return who + "expected " + std::to_string(parameter.num_elements) + " elements, got " +
             std::to_string(operand.num_elements);
    }
    if (reinterpret_cast<std::uintptr_t>(operand.data) % kernel_alignment != 0 ||
        operand.data == nullptr) {
      return who + "the memory must be aligned to 64 bytes (tensorsmith::AlignedBuffer is)";
    }
    if (parameter.is_output && operand.is_constant) {
      return who + "is an output, but its elements are const";
    }
  }
  return {};
}

}  // namespace tensorsmith
