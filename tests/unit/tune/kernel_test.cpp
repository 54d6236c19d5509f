// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/kernel.hpp"

#include <vector>

#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

std::string check(const KernelSignature& signature, std::vector<KernelOperand> operands) {
  return check_operands(signature, operands);
}

template <class Buffer>
KernelOperand of(Buffer& buffer) {
  return describe_operand(buffer.size(), buffer.data());
}

}  // namespace

TEST_CASE("an aligned buffer is aligned, zero and movable") {
  AlignedBuffer<float> buffer(1000);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % kernel_alignment == 0);
  double sum = 0;
  for (const float value : buffer) {
    sum += value;
  }
  CHECK(sum == 0);
  buffer[999] = 3;
  AlignedBuffer<float> other(std::move(buffer));
  CHECK(other[999] == 3);
  CHECK(buffer.size() == 0);
  AlignedBuffer<double> empty(0);
  CHECK(empty.data() != nullptr);
}

TEST_CASE("arguments of a kernel are checked one by one") {
  const KernelSignature signature{
      "kernel", {{"A", DType::f32, 16, false}, {"B", DType::bf16, 8, true}}, 0, 0};
  AlignedBuffer<float> a(16);
  AlignedBuffer<std::uint16_t> b(8);
  AlignedBuffer<double> wrong_type(16);
  AlignedBuffer<float> too_long(17);
  const AlignedBuffer<std::uint16_t> constant(8);
  CHECK(check(signature, {of(a), of(b)}) == "");
  CHECK(check(signature, {of(a)}) == "the kernel takes 2 arguments, got 1");
  CHECK(check(signature, {of(wrong_type), of(b)}) ==
        "argument 0 'A': elements must be f32, are f64");
  CHECK(check(signature, {of(b), of(b)}) ==
        "argument 0 'A': elements must be f32, are 16 bits wide");
  CHECK(check(signature, {of(too_long), of(b)}) == "argument 0 'A': expected 16 elements, got 17");
  CHECK(check(signature, {of(a), of(constant)}) ==
        "argument 1 'B': is an output, but its elements are const");
  const std::span<float> shifted(too_long.data() + 1, 16);
  CHECK(check(signature, {of(shifted), of(b)}) == "");
  std::vector<std::byte> bytes(80);
  for (std::size_t offset = 0; offset < 16; ++offset) {
    const std::span<std::byte> placed(bytes.data() + offset, 64);
    CHECK((check(signature, {of(placed), of(b)}) ==
           "argument 0 'A': the memory must be aligned to the 4 bytes of its elements") ==
          (reinterpret_cast<std::uintptr_t>(placed.data()) % 4 != 0));
  }
  const std::span<float> nothing(static_cast<float*>(nullptr), 16);
  CHECK(check(signature, {of(nothing), of(b)}) ==
        "argument 0 'A': there is no memory (a null pointer)");
}

TEST_CASE("a result may lie in the memory of an input only where the kernel allows it") {
  KernelSignature signature{"kernel",
                            {{"A", DType::f32, 16, false, true},
                             {"B", DType::f32, 16, false},
                             {"C", DType::f32, 16, true}},
                            0,
                            0};
  AlignedBuffer<float> a(16), b(16), c(32);
  CHECK(check(signature, {of(a), of(b), of(a)}) == "");
  CHECK(check(signature, {of(a), of(b), of(b)}) ==
        "argument 2 'C': overlaps argument 1 'B', which this kernel cannot leave its result in");
  const std::span<float> first(c.data(), 16), next(c.data() + 16, 16);
  CHECK(check(signature, {of(first), of(b), of(next)}) == "");
  signature.parameters[0].num_elements = 32;
  CHECK(check(signature, {of(c), of(b), of(next)}) ==
        "argument 2 'C': overlaps argument 0 'A', which this kernel cannot leave its result in");
}
