// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/tune/reference_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/measure/fill.hpp"

using namespace tensorsmith;

TEST_CASE("a buffer is zero at first, of any size, and moves") {
  for (const std::size_t size : {0UL, 1UL, 4097UL, 5UL << 20}) {
    ReferenceBuffer buffer(size);
    CHECK(buffer.size() == size);
    CHECK(std::count(buffer.begin(), buffer.end(), std::byte{0}) == std::ptrdiff_t(size));
    std::fill(buffer.begin(), buffer.end(), std::byte{7});
    const ReferenceBuffer moved(std::move(buffer));
    CHECK(moved.size() == size);
    CHECK(std::count(moved.begin(), moved.end(), std::byte{7}) == std::ptrdiff_t(size));
  }
}

TEST_CASE("a repeated input is what the worker draws, filled once") {
  for (const std::int64_t count : {100LL, 65'521LL * 3 + 17, 65'521LL * 4096 * 2 + 12'345}) {
    MeasureTask task;
    task.arguments.resize(1);
    task.arguments[0].dtype = DType::i8;
    task.arguments[0].num_elements = count;
    task.arguments[0].fill = {-100, 100};
    std::size_t num_filled = 0;
    const ReferenceBuffer buffer = ReferenceBuffer::repeated(
        std::size_t(count), detail::fill_period, [&](std::span<std::byte> out) {
          num_filled += out.size();
          detail::fill_start(task, 0, out);
        });
    std::vector<std::byte> drawn(static_cast<std::size_t>(count));
    fill_input(task, 0, drawn);
    REQUIRE(buffer.size() == drawn.size());
    CHECK(std::memcmp(buffer.data(), drawn.data(), drawn.size()) == 0);
    CHECK(num_filled == std::min<std::size_t>(drawn.size(), 65'521UL * 4096));
  }
}
