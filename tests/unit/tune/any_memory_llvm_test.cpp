// SPDX-License-Identifier: Apache-2.0
// Kernels on the memory that programs have: vectors, and elements anywhere in a larger array.
#include <array>
#include <cstring>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/tune.hpp"
#include "tune/compile.hpp"

using namespace tensorsmith;

namespace {

/// Bytes of small numbers that begin `offset` bytes behind a line.
class Operand {
 public:
  Operand(const KernelParameter& parameter, std::size_t offset)
      : size_(static_cast<std::size_t>(parameter.num_elements * bytes_of(parameter.dtype))),
        element_(static_cast<std::size_t>(bytes_of(parameter.dtype))), offset_(64 + offset),
        memory_(size_ + 256) {
    std::memset(memory_.data(), 0x5A, memory_.size());
    for (std::int64_t i = 0; i < parameter.num_elements; ++i) {
      const auto value = static_cast<float>(i % 7 - 3);
      if (parameter.dtype == DType::f32) {
        std::memcpy(begin() + 4 * i, &value, 4);
      } else if (parameter.dtype == DType::bf16 || parameter.dtype == DType::f16) {
        const auto bits = static_cast<std::uint16_t>(0x3C00 + i % 5 * 64);
        std::memcpy(begin() + 2 * i, &bits, 2);
      } else {
        const auto number = static_cast<std::int32_t>(i % 7 - 3);
        std::memcpy(begin() + i * static_cast<std::int64_t>(element_), &number, element_);
      }
    }
  }
  std::byte* begin() { return memory_.data() + offset_; }
  KernelOperand describe(const KernelParameter& parameter) {
    KernelOperand operand;
    operand.data = begin();
    operand.num_elements = parameter.num_elements;
    operand.element_bytes = static_cast<std::int32_t>(element_);
    operand.dtype = parameter.dtype;
    operand.is_raw = element_ == 2;
    return operand;
  }
  std::vector<std::byte> content() { return {begin(), begin() + size_}; }
  bool is_intact_around() {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if ((i < offset_ || i >= offset_ + size_) && memory_[i] != std::byte{0x5A}) {
        return false;
      }
    }
    return true;
  }

 private:
  std::size_t size_, element_, offset_;
  AlignedBuffer<std::byte> memory_;
};

/// All operands after a call; argument i begins offsets[i % 4] bytes behind a line.
std::vector<std::vector<std::byte>> call(const Kernel& kernel, std::array<std::size_t, 4> offsets) {
  const std::vector<KernelParameter>& parameters = kernel.signature().parameters;
  std::vector<Operand> operands;
  std::vector<KernelOperand> described;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::size_t offset = offsets[i % offsets.size()];
    const auto element = static_cast<std::size_t>(bytes_of(parameters[i].dtype));
    operands.emplace_back(parameters[i], offset / element * element);
    described.push_back(operands.back().describe(parameters[i]));
  }
  kernel.call(described);
  std::vector<std::vector<std::byte>> contents;
  for (Operand& operand : operands) {
    CHECK(operand.is_intact_around());
    contents.push_back(operand.content());
  }
  return contents;
}

}  // namespace

TEST_CASE("a kernel gives the same bits wherever its operands lie") {
  for (const char* text :
       {"gemm:13x35x21:f32,bias,relu", "gemm:9x33x24:i8", "gemm:16x24x32:bf16",
        "conv2d:n=1,h=9,w=9,ci=5,co=18,k=3,s=1,p=1", "depthwise:n=1,h=9,w=9,c=20,k=3,s=1,p=1",
        "softmax:7x37:f32", "layernorm:5x40:f32", "reduce_sum:7x37:i32", "argmax:6x21:f32",
        "pointwise:7x35:f32,mul_per_column,add_per_column,add,relu,mul_per_row"}) {
    INFO(text);
    const auto workload = ops::parse_workload(text);
    REQUIRE(workload);
    for (const std::int32_t num_threads : {1, 2}) {
      State state = State::initial(workload->dag);
      const auto built = make_candidate_builder(host_target(), num_threads)->build(state);
      REQUIRE(built);
      const Kernel kernel(signature_of(*built, *workload->dag), built->object, num_threads);
      const auto expected = call(kernel, {0, 0, 0, 0});
      for (const std::array<std::size_t, 4>& offsets : {std::array<std::size_t, 4>{4, 4, 4, 4},
                                                        {16, 32, 0, 4},
                                                        {32, 16, 4, 16},
                                                        {0, 4, 32, 16},
                                                        {1, 2, 60, 3}}) {
        CHECK(call(kernel, offsets) == expected);
      }
    }
  }
}

TEST_CASE("vectors are operands") {
  const auto workload = ops::parse_workload("gemm:6x20x8:f32");
  REQUIRE(workload);
  const auto built = make_candidate_builder(host_target(), 1)->build(State::initial(workload->dag));
  REQUIRE(built);
  const Kernel kernel(signature_of(*built, *workload->dag), built->object, 1);
  std::vector<float> a(48, 2), b(160, 3), c(120);
  kernel(a, b, c);
  CHECK(c == std::vector<float>(120, 48));
  std::vector<float> shorter(47);
  CHECK_THROWS_AS(kernel(shorter, b, c), Error);
}
