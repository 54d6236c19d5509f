// SPDX-License-Identifier: Apache-2.0
// Kernel: compiled code that can be called, with every argument checked.
//
// Floor 7; compiled in lib/tune (loads the code through lib/cpu). Own design. Sizes, element types
// and alignment are checked on every call: a check costs nanoseconds, a wrong pointer costs a day.
// Operands may lie in any memory that is aligned to their elements.
// Not here: how the code came to be (tune.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tensorsmith/ir/dtype.hpp"
#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

/// Of the workspace (kernel_abi.hpp), and of operands for the best speed: vectors that cross lines
/// take two reads, and results are written past the caches only from the beginning of a line on.
constexpr std::size_t kernel_alignment = 64;

struct KernelParameter {
  std::string name;
  DType dtype = DType::f32;
  std::int64_t num_elements = 0;
  bool is_output = false;
  /// The kernel's result may lie in the memory of this input: same size, read before it is written.
  bool is_overwritable = false;
};

/// Both functions are KernelEntry (codegen/kernel_abi.hpp): pointers in the order of the
/// parameters.
struct KernelSignature {
  std::string entry;  ///< symbol of the code
  std::vector<KernelParameter> parameters;
  std::int64_t shared_bytes = 0;      ///< workspace: once ...
  std::int64_t per_thread_bytes = 0;  ///< ... and per thread

  /// The function that packs constant inputs, called once; empty: there is none. It takes the
  /// constants, then what it writes, which `parameters` holds in the place of the constants. A
  /// packed buffer may be kept as long as the code: its contents depend on nothing else.
  std::string prepack_entry;
  std::vector<KernelParameter> prepack_parameters;
};

/// Elements where kernels are fastest, zero at first. They begin at a page, as where kernels
/// are measured: pairs of lines and runs of them, which caches load together, are the same ones
/// then.
template <class T>
class AlignedBuffer {
 public:
  using value_type = T;
  explicit AlignedBuffer(std::size_t size)
      : size_(size), data_(static_cast<T*>(
                         ::operator new[](size * sizeof(T) + 1, std::align_val_t{page_bytes}))) {
    for (std::size_t i = 0; i < size_; ++i) {
      data_[i] = T{};
    }
  }
  AlignedBuffer(AlignedBuffer&& other) noexcept : size_(other.size_), data_(other.data_) {
    other.size_ = 0;
    other.data_ = nullptr;
  }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer() { ::operator delete[](data_, std::align_val_t{page_bytes}); }

  std::size_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  static_assert(std::is_trivially_copyable_v<T>);
  static constexpr std::size_t page_bytes = 4096;
  std::size_t size_;
  T* data_;
};

/// One argument of a call, erased.
struct KernelOperand {
  const void* data = nullptr;
  std::int64_t num_elements = 0;
  std::int32_t element_bytes = 0;
  DType dtype = DType::f32;
  bool is_constant = false;  ///< may not be an output
  /// Only the size is compared: 16-bit elements (f16, bf16), or bytes (std::byte).
  bool is_raw = false;
};

template <class T>
constexpr KernelOperand describe_operand(std::size_t num_elements, T* data) {
  using Element = std::remove_const_t<T>;
  KernelOperand operand;
  operand.data = data;
  operand.num_elements = static_cast<std::int64_t>(num_elements);
  operand.element_bytes = static_cast<std::int32_t>(sizeof(Element));
  operand.is_constant = std::is_const_v<T>;
  if constexpr (std::is_same_v<Element, double>) {
    operand.dtype = DType::f64;
  } else if constexpr (std::is_same_v<Element, float>) {
    operand.dtype = DType::f32;
  } else if constexpr (std::is_same_v<Element, std::int64_t>) {
    operand.dtype = DType::i64;
  } else if constexpr (std::is_same_v<Element, std::int32_t>) {
    operand.dtype = DType::i32;
  } else if constexpr (std::is_same_v<Element, std::int8_t>) {
    operand.dtype = DType::i8;
  } else if constexpr (std::is_same_v<Element, std::uint8_t>) {
    operand.dtype = DType::u8;
  } else if constexpr (std::is_same_v<Element, bool>) {
    operand.dtype = DType::boolean;
  } else {
    static_assert(sizeof(Element) == 2 || std::is_same_v<Element, std::byte>,
                  "a kernel has no arguments of this element type");
    operand.is_raw = true;
  }
  return operand;
}

/// What kernels run on: threads that stay, and a workspace as large as the neediest of them wants.
/// A handle; copies share it. Calls of kernels of one runtime must not overlap in time.
class Runtime {
 public:
  /// `num_threads` >= 1, the calling one included. Throws Error.
  explicit Runtime(std::int32_t num_threads = 1);

  std::int32_t num_threads() const;
  std::size_t workspace_bytes() const;

 private:
  friend class Kernel;
  struct Impl;
  Shared<Impl> impl_;
};

/// A handle; copies share one kernel. Calls of one kernel must not overlap in time.
class Kernel {
 public:
  /// Links `object` into this process; the kernel has a runtime of its own. Throws Error if that
  /// fails.
  Kernel(KernelSignature signature, std::span<const std::byte> object, std::int32_t num_threads);
  /// The same on a runtime that kernels share.
  Kernel(KernelSignature signature, std::span<const std::byte> object, Runtime runtime);

  const KernelSignature& signature() const;
  std::int32_t num_threads() const;

  /// Once per set of weights: packs the constant inputs, given in the dag's order, into buffers
  /// that stand in their place in calls. None if the schedule packs nothing beforehand.
  ///     const auto packed = kernel.prepack(b);   kernel(a, packed[0], c);   kernel(a2, packed[0],
  ///     c)
  template <class... Arguments>
  std::vector<AlignedBuffer<std::byte>> prepack(Arguments&&... constants) const {
    const KernelOperand operands[] = {describe_operand(constants.size(), constants.data())...};
    return pack(operands);
  }
  std::vector<AlignedBuffer<std::byte>> pack(std::span<const KernelOperand> constants) const;
  /// No check at all: one pointer per parameter of prepack, aligned to its elements.
  void prepack_unchecked(void* const* arguments) const;

  /// Arguments in the dag's order: std::vector, std::span, AlignedBuffer, anything with data() and
  /// size(). The result may be given the memory of an input that `is_overwritable`, a residual:
  ///     kernel(a, b, bias, x, x);   // x = relu(a * b + bias + x)
  /// Throws Error that names the first wrong argument.
  template <class... Arguments>
  void operator()(Arguments&&... arguments) const {
    const KernelOperand operands[] = {describe_operand(arguments.size(), arguments.data())...};
    call(operands);
  }
  void call(std::span<const KernelOperand> operands) const;
  /// No check at all: one pointer per argument, aligned to its elements.
  void call_unchecked(void* const* arguments) const;

 private:
  struct Impl;
  Shared<Impl> impl_;
};

/// What is wrong with these arguments, in one sentence; empty if nothing.
std::string check_operands(const KernelSignature& signature,
                           std::span<const KernelOperand> operands);
std::string check_operands(std::span<const KernelParameter> parameters,
                           std::span<const KernelOperand> operands);

}  // namespace tensorsmith
