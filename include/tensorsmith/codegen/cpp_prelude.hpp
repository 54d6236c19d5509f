// SPDX-License-Identifier: Apache-2.0
// The helper functions of exported C++: each is printed only where it is used.
//
// Floor 5. Own design; semantics as in ir/expr.hpp.
#pragma once

#include <iterator>
#include <string>
#include <string_view>

#include "tensorsmith/codegen/cpp_math.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

// In the order of printing: a helper uses only those before it.
inline constexpr CppHelper cpp_helpers[] = {
    {"floor_div(", R"(// Rounds towards minus infinity.
inline std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}
)"},
    {"floor_mod(", R"(// The remainder that belongs to floor_div: it has the sign of b.
inline std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  const std::int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}
)"},
    {"float_floor_mod<", R"(template <class T>
inline T float_floor_mod(T a, T b) {
  return a - std::floor(a / b) * b;
}
)"},
    {"min_of<", R"(// The smaller one, lane by lane; the other one if one is NaN.
template <class T>
inline T min_of(T a, T b) {
  return a < b ? a : (b == b ? b : a);
}
)"},
    {"max_of<", R"(// The larger one, lane by lane; the other one if one is NaN.
template <class T>
inline T max_of(T a, T b) {
  return a > b ? a : (b == b ? b : a);
}
)"},
    {"abs_of<", R"(template <class T>
inline T abs_of(T a) {
  return a < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a)) : a;
}
)"},
    {"sigmoid_of_double(", R"(// 1 / (1 + exp(-a)) with an exponential that cannot overflow.
inline double sigmoid_of_double(double a) {
  const double e = std::exp(-std::fabs(a));
  return (a < 0 ? e : 1.0) / (1.0 + e);
}
)"},
    {"wrap_add<", R"(// Modulo 2^bits.
template <class T>
inline T wrap_add(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
}
)"},
    {"wrap_sub<", R"(// Modulo 2^bits.
template <class T>
inline T wrap_sub(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
}
)"},
    {"wrap_mul<", R"(// Modulo 2^bits.
template <class T>
inline T wrap_mul(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
}
)"},
    {"from_bf16(", R"(inline float from_bf16(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}
)"},
    {"to_bf16(", R"(// Rounds to nearest, halves to even.
inline std::uint16_t to_bf16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  }
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
)"},
    {"from_f16(", R"(inline float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const int exponent = (bits >> 10) & 0x1f;
  const std::uint32_t fraction = bits & 0x3ffu;
  float value;
  if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -value : value;
  }
  const std::uint32_t wide =
      sign | (exponent == 31 ? 0x7f800000u : static_cast<std::uint32_t>(exponent + 112) << 23) |
      (fraction << 13);
  std::memcpy(&value, &wide, sizeof value);
  return value;
}
)"},
    {"to_f16(", R"(// Rounds to nearest, halves to even.
inline std::uint16_t to_f16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) {
    return static_cast<std::uint16_t>(sign | 0x7c00u | (magnitude > 0x7f800000u ? 0x200u : 0u));
  }
  if (magnitude < 0x38800000u) {  // below the smallest normal number
    return static_cast<std::uint16_t>(
        sign | static_cast<std::uint32_t>(std::nearbyint(std::ldexp(std::fabs(value), 24))));
  }
  const std::uint32_t rounded = magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(
      sign | (rounded >= 0x0f800000u ? 0x7c00u : (rounded >> 13)));
}
)"},
    {"scratch_of<",
     R"(// Memory of one thread, 64-byte aligned, allocated at its first use and freed with the thread.
template <class T, std::size_t count>
class Scratch {
 public:
  Scratch()
      : data_(static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(64)))) {}
  ~Scratch() { ::operator delete(data_, std::align_val_t(64)); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return data_; }

 private:
  T* data_;
};
// Not inlined: clang keeps values in vector registers 16 to 31 across the look-up of a thread_local,
// which calls the allocator at its first use in a loaded library. `number` tells buffers apart.
template <class T, std::size_t count, int number>
__attribute__((noinline)) T* scratch_of() {
  static thread_local const Scratch<T, count> memory;
  return memory.data();
}
)"}};

/// In front of the namespace of what follows.
inline constexpr std::string_view cpp_parallel_include = R"(#if defined(_OPENMP)
#include <omp.h>
#endif

)";
/// What machine code asks of its caller (kernel_abi.hpp), by OpenMP or one after the other.
inline constexpr std::string_view cpp_parallel_runtime = R"(struct ParallelRuntime {
  void (*parallel_for)(const ParallelRuntime*,
                       void (*)(void*, std::int64_t, std::int64_t, std::int32_t), void*,
                       std::int64_t);
  void* pool;
  std::int32_t num_threads;
};
inline void parallel_for(const ParallelRuntime* runtime,
                         void (*body)(void*, std::int64_t, std::int64_t, std::int32_t),
                         void* closure, std::int64_t count) {
#if defined(_OPENMP)
#pragma omp parallel num_threads(runtime->num_threads)
  {
    const std::int64_t all = omp_get_num_threads(), worker = omp_get_thread_num();
    const std::int64_t begin = count * worker / all, end = count * (worker + 1) / all;
    if (begin < end) {
      body(closure, begin, end, static_cast<std::int32_t>(worker));
    }
  }
#else
  (void)runtime;
  body(closure, 0, count, 0);
#endif
}
)";

namespace detail {

/// Whether `word` occurs in `text`, no part of a longer identifier, such that `accepts` what stands
/// behind it.
template <class Accepts>
bool any_word(std::string_view text, std::string_view word, const Accepts& accepts) {
  const auto is_part = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_part(text[at - 1])) &&
        (end == text.size() || !is_part(word.back()) || !is_part(text[end])) &&
        accepts(text.substr(end))) {
      return true;
    }
  }
  return false;
}

/// It may end with what is no part of an identifier, as "floor_mod(" does.
inline bool has_word(std::string_view text, std::string_view word) {
  return any_word(text, word, [](std::string_view) { return true; });
}

/// Whether a variable has a use that is no assignment to it or to one of its lanes.
inline bool is_read(std::string_view text, std::string_view variable) {
  return any_word(text, variable, [](std::string_view behind) {
    if (behind.substr(0, 1) == "[") {
      behind.remove_prefix(smaller_of(behind.find(']'), behind.size() - 1) + 1);
    }
    return behind.substr(0, 3) != " = ";
  });
}

}  // namespace detail

/// The helpers that `text` uses, directly or through another.
inline std::string cpp_helpers_for(std::string_view text) {
  std::string used(text), result;
  const auto add = [&](const CppHelper& helper) {
    if (detail::has_word(used, helper.name)) {
      result.insert(0, std::string(helper.text) + "\n");
      used += helper.text;
    }
  };
  for (std::size_t i = std::size(cpp_math_helpers); i-- > 0;) {
    add(cpp_math_helpers[i]);
  }
  for (std::size_t i = std::size(cpp_helpers); i-- > 0;) {
    add(cpp_helpers[i]);
  }
  return result;
}

}  // namespace tensorsmith
