// SPDX-License-Identifier: Apache-2.0
#include "cpu/tile_emulation.hpp"

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

#include "tensorsmith/support/narrow_float.hpp"

namespace tensorsmith {
namespace {

constexpr int num_tiles = 8, num_rows = 16, row_bytes = 64, num_columns = 16;

struct Tile {
  unsigned char bytes[num_rows][row_bytes];
};
struct State {
  bool is_configured = false;
  Tile tiles[num_tiles];
};
thread_local State state;

struct Counters {
  std::atomic<std::int64_t> configure{0}, release{0}, zero{0}, load{0}, store{0}, dot{0}, fault{0};
};
Counters counters;

/// nullptr, and a fault, if it cannot be used.
Tile* usable(unsigned char tile) {
  if (!state.is_configured || tile >= num_tiles) {
    ++counters.fault;
    return nullptr;
  }
  return &state.tiles[tile];
}

void configure(const unsigned char* configuration) {
  ++counters.configure;
  bool is_good = configuration[0] == 1 && configuration[1] == 0;
  for (int t = 0; t < num_tiles; ++t) {
    is_good = is_good && configuration[16 + 2 * t] == row_bytes && configuration[17 + 2 * t] == 0 &&
              configuration[48 + t] == num_rows;
  }
  counters.fault += is_good ? 0 : 1;
  state.is_configured = true;
  std::memset(state.tiles, 0, sizeof state.tiles);
}

void release() {
  ++counters.release;
  state.is_configured = false;
}

void zero(unsigned char tile) {
  ++counters.zero;
  if (Tile* const t = usable(tile)) {
    std::memset(t->bytes, 0, sizeof t->bytes);
  }
}

void load(unsigned char tile, const char* first, std::int64_t stride) {
  ++counters.load;
  if (Tile* const t = usable(tile)) {
    for (int r = 0; r < num_rows; ++r) {
      std::memcpy(t->bytes[r], first + r * stride, row_bytes);
    }
  }
}

void store(unsigned char tile, char* first, std::int64_t stride) {
  ++counters.store;
  if (const Tile* const t = usable(tile)) {
    for (int r = 0; r < num_rows; ++r) {
      std::memcpy(first + r * stride, t->bytes[r], row_bytes);
    }
  }
}

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x; }
float from_bf16(std::uint16_t bits) {
  return flushed(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

float from_f16(std::uint16_t bits) { return float_from_f16(bits); }

template <class Element>
Element element(const Tile& tile, int row, int at) {
  Element value;
  std::memcpy(&value, &tile.bytes[row][at * static_cast<int>(sizeof value)], sizeof value);
  return value;
}

/// update(sum, row, column) for all sums of the tile; the sum's old value is an argument.
template <class Sum, class Update>
void update_all(Tile& sums, const Update& update) {
  for (int m = 0; m < num_rows; ++m) {
    for (int n = 0; n < num_columns; ++n) {
      const Sum value = update(element<Sum>(sums, m, n), m, n);
      std::memcpy(&sums.bytes[m][n * 4], &value, sizeof value);
    }
  }
}

template <float (*from_bits)(std::uint16_t)>
void dot_halves(unsigned char sums, unsigned char a, unsigned char b) {
  ++counters.dot;
  Tile* const c = usable(sums);
  const Tile *const x = usable(a), *const y = usable(b);
  if (c == nullptr || x == nullptr || y == nullptr || sums == a || sums == b || a == b) {
    counters.fault += c != nullptr && x != nullptr && y != nullptr ? 1 : 0;
    return;
  }
  update_all<float>(*c, [&](float old, int m, int n) {
    float even = 0, odd = 0;
    for (int k = 0; k < row_bytes / 4; ++k) {
      const auto product = [&](int part, float sum) {
        const float left = from_bits(element<std::uint16_t>(*x, m, 2 * k + part));
        const float right = from_bits(element<std::uint16_t>(*y, k, 2 * n + part));
        return flushed(std::fma(left, right, sum));
      };
      even = product(0, even);
      odd = product(1, odd);
    }
    return flushed(flushed(old) + flushed(even + odd));
  });
}

template <class A, class B>
void dot_bytes(unsigned char sums, unsigned char a, unsigned char b) {
  ++counters.dot;
  Tile* const c = usable(sums);
  const Tile *const x = usable(a), *const y = usable(b);
  if (c == nullptr || x == nullptr || y == nullptr || sums == a || sums == b || a == b) {
    counters.fault += c != nullptr && x != nullptr && y != nullptr ? 1 : 0;
    return;
  }
  update_all<std::uint32_t>(*c, [&](std::uint32_t sum, int m, int n) {  // wraps
    for (int k = 0; k < row_bytes; ++k) {
      const int product = element<A>(*x, m, k) * element<B>(*y, k / 4, 4 * n + k % 4);
      sum += static_cast<std::uint32_t>(product);
    }
    return sum;
  });
}

template <class F>
void* address_of(F* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

TileCounts tile_counts() {
  const Counters& c = counters;
  return {c.configure, c.release, c.zero, c.load, c.store, c.dot, c.fault};
}

void reset_tile_counts() {
  for (std::atomic<std::int64_t>* counter :
       {&counters.configure, &counters.release, &counters.zero, &counters.load, &counters.store,
        &counters.dot, &counters.fault}) {
    *counter = 0;
  }
}

namespace tile_emulation {

FunctionList functions() {
  static const Function all[] = {
      {"tensorsmith_tile_configure", address_of(configure)},
      {"tensorsmith_tile_release", address_of(release)},
      {"tensorsmith_tile_zero", address_of(zero)},
      {"tensorsmith_tile_load", address_of(load)},
      {"tensorsmith_tile_store", address_of(store)},
      {"tensorsmith_tile_dot_bf16", address_of(dot_halves<from_bf16>)},
      {"tensorsmith_tile_dot_f16", address_of(dot_halves<from_f16>)},
      {"tensorsmith_tile_dot_s8", address_of(dot_bytes<std::int8_t, std::int8_t>)},
      {"tensorsmith_tile_dot_u8", address_of(dot_bytes<std::uint8_t, std::int8_t>)}};
  return {all, static_cast<std::int64_t>(std::size(all))};
}

}  // namespace tile_emulation
}  // namespace tensorsmith
