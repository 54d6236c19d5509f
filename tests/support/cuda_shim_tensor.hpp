// SPDX-License-Identifier: Apache-2.0
// Part of cuda_shim.hpp: what a warp's tensor-core instructions do, lane by lane.
#pragma once

template <class T>
inline unsigned word_at(const T* p) {
  unsigned word;
  std::memcpy(&word, p, sizeof word);
  return word;
}
template <class T>
inline unsigned gathered_word(const T* p, int step) {
  T parts[4 / sizeof(T)];
  for (int i = 0; i < static_cast<int>(4 / sizeof(T)); ++i) {
    parts[i] = p[i * step];
  }
  unsigned word;
  std::memcpy(&word, parts, sizeof word);
  return word;
}
namespace cuda_shim {
/// What every lane of the warp brought.
template <class T>
inline void gather(T value, T (&all)[32]) {
  const Fibre* const warp = exchange(0xffffffffu, value);
  const unsigned round = warp[Machine::instance().current % 32].rounds;
  for (int lane = 0; lane < 32; ++lane) {
    std::memcpy(&all[lane], &warp[lane].slot[round % 2], sizeof(T));
  }
}
template <int n>
inline void load_matrices(unsigned (&words)[n], const void* row, bool transposes) {
  const char* rows[32];
  gather(static_cast<const char*>(row), rows);
  const int lane = static_cast<int>(Machine::instance().current % 32);
  for (int q = 0; q < n; ++q) {
    for (int half = 0; half < 2; ++half) {
      const int r = transposes ? 2 * (lane % 4) + half : lane / 4;
      const int c = transposes ? lane / 4 : 2 * (lane % 4) + half;
      std::memcpy(reinterpret_cast<char*>(&words[q]) + 2 * half, rows[8 * q + r] + 2 * c, 2);
    }
  }
}
/// `element(word, i)`: element i of a register, as the accumulator's type.
template <class C, class Element>
inline void multiply(C& c0, C& c1, C& c2, C& c3, const unsigned (&a)[4], const unsigned (&b)[2],
                     int bytes, const Element& element) {
  unsigned all_a[4][32], all_b[2][32];
  for (int q = 0; q < 4; ++q) {
    gather(a[q], all_a[q]);
  }
  for (int q = 0; q < 2; ++q) {
    gather(b[q], all_b[q]);
  }
  const int lane = static_cast<int>(Machine::instance().current % 32);
  C* const c[4] = {&c0, &c1, &c2, &c3};
  for (int r = 0; r < 4; ++r) {
    for (int half = 0; half < 2; ++half) {
      for (int quarter = 0; quarter < 4; ++quarter) {
        for (int i = 0; i < 4 / bytes; ++i) {
          const C x = element(all_a[r / 2 + 2 * half][lane / 4 * 4 + quarter], i);
          const C y = element(all_b[half][(2 * (lane % 4) + r % 2) * 4 + quarter], i);
          *c[r] = static_cast<C>(*c[r] + x * y);
        }
      }
    }
  }
}
}  // namespace cuda_shim
inline void load_matrices(unsigned (&words)[4], const void* row) {
  cuda_shim::load_matrices(words, row, false);
}
inline void load_matrices(unsigned (&words)[2], const void* row) {
  cuda_shim::load_matrices(words, row, false);
}
inline void load_transposed_matrices(unsigned (&words)[2], const void* row) {
  cuda_shim::load_matrices(words, row, true);
}
#define TENSORSMITH_MMA(name, type, bytes, value)                                                  \
  inline void name(type& c0, type& c1, type& c2, type& c3, const unsigned(&a)[4],                  \
                   const unsigned(&b)[2]) {                                                        \
    cuda_shim::multiply(c0, c1, c2, c3, a, b, bytes,                                               \
                        [](unsigned word, int i) -> type { return value; });                       \
  }
TENSORSMITH_MMA(mma_m16n8k16_f16, float, 2, from_f16(static_cast<unsigned short>(word >> 16 * i)))
TENSORSMITH_MMA(mma_m16n8k16_bf16, float, 2, __uint_as_float(word >> 16 * i << 16))
TENSORSMITH_MMA(mma_m16n8k8_tf32, float, 4, __uint_as_float((word & 0xffffe000u) + 0u * i))
TENSORSMITH_MMA(mma_m16n8k32_s8, int, 1, static_cast<signed char>(word >> 8 * i))
#undef TENSORSMITH_MMA

// Warpgroups read operands where they lie: lines of 128 bytes, pieces of 16 bytes exchanged by the
// address, as the hardware does it.
struct SharedMatrix {
  std::uintptr_t first;
  int columns, lines;
  /// Of row r of a, or column r of b.
  const void* at(int r, int depth, bool is_transposed) const {
    const int offset = is_transposed
                           ? r / 64 * columns + depth / 8 * lines + depth % 8 * 128 + r % 64 * 2
                           : r / 8 * lines + r % 8 * 128 + depth * 2;
    const std::uintptr_t address = first + static_cast<std::uintptr_t>(offset);
    return reinterpret_cast<const void*>(address ^ (address >> 7 & 7) << 4);
  }
};
template <int columns, int lines>
inline SharedMatrix shared_matrix(const void* first) {
  return {reinterpret_cast<std::uintptr_t>(first), columns, lines};
}
inline void publish_copies() {}
inline void begin_products() {}
inline void finish_products() {}
#define TENSORSMITH_WGMMA(name, value)                                                             \
  template <int n, bool is_a_transposed, bool is_b_transposed>                                     \
  inline void name(float* c, const SharedMatrix& a, const SharedMatrix& b) {                       \
    const int thread = static_cast<int>(cuda_shim::Machine::instance().current % 128);             \
    const auto factor = [](const void* from) {                                                     \
      unsigned short bits;                                                                         \
      std::memcpy(&bits, from, sizeof bits);                                                       \
      return value;                                                                                \
    };                                                                                             \
    for (int i = 0; i < n / 2; ++i) {                                                              \
      const int row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;                          \
      const int column = i / 4 * 8 + thread % 4 * 2 + i % 2;                                       \
      for (int depth = 0; depth < 16; ++depth) {                                                   \
        c[i] += factor(a.at(row, depth, is_a_transposed)) *                                        \
                factor(b.at(column, depth, is_b_transposed));                                      \
      }                                                                                            \
    }                                                                                              \
  }
TENSORSMITH_WGMMA(wgmma_k16_f16, from_f16(bits))
TENSORSMITH_WGMMA(wgmma_k16_bf16, __uint_as_float(static_cast<unsigned>(bits) << 16))
#undef TENSORSMITH_WGMMA
