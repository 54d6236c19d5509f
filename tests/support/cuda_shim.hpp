// SPDX-License-Identifier: Apache-2.0
// Lets a C++17 compiler build the text of cuda_source() and run it on the processor.
//
// Test support, compiled into the generated text and nowhere else: g++ -include cuda_shim.hpp. One
// fibre per CUDA thread, blocks one after another. Threads run to the next barrier, in an order
// that is told: forward, backward or shuffled by a seed. What PTX does is here in plain C++. Errors
// instead of undefined behaviour: a barrier that not all threads reach, or reach at two places, and
// a lane that never comes to a warp's exchange. Not here: memory spaces, speed.
#pragma once

#include <math.h>
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#define TENSORSMITH_CUDA_SHIM 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static  // blocks follow one another
#define __syncthreads() ::cuda_shim::barrier(__LINE__)

// --- vector types
// ---------------------------------------------------------------------------------
#define TENSORSMITH_VECTORS(name, type)                                                            \
  struct __align__(2 * sizeof(type)) name##2 {                                                     \
    type x, y;                                                                                     \
  };                                                                                               \
  struct __align__(4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type)) name##4 {                        \
    type x, y, z, w;                                                                               \
  };                                                                                               \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; }                                 \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
TENSORSMITH_VECTORS(float, float)
TENSORSMITH_VECTORS(double, double)
TENSORSMITH_VECTORS(char, signed char)
TENSORSMITH_VECTORS(uchar, unsigned char)
TENSORSMITH_VECTORS(short, short)
TENSORSMITH_VECTORS(ushort, unsigned short)
TENSORSMITH_VECTORS(int, int)
TENSORSMITH_VECTORS(longlong, long long)
#undef TENSORSMITH_VECTORS

struct uint3 {
  unsigned x, y, z;
};

// --- functions that CUDA has and C++ has not
// -------------------------------------------------------
template <class To, class From>
inline To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}
inline float __int_as_float(int bits) { return bits_as<float>(bits); }
inline float __uint_as_float(unsigned bits) { return bits_as<float>(bits); }
inline unsigned __float_as_uint(float value) { return bits_as<unsigned>(value); }
inline double __longlong_as_double(long long bits) { return bits_as<double>(bits); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
using std::floor;

// --- in place of the prelude's inline PTX
// ----------------------------------------------------------
inline float from_f16(unsigned short bits) {
  const int exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
  const float size = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                     : exponent == 0 ? ldexpf(static_cast<float>(fraction), -24)
                                     : ldexpf(static_cast<float>(fraction | 0x400), exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}
inline unsigned short to_f16(float value) {
  const unsigned bits = __float_as_uint(value), size = bits & 0x7fffffffu;
  const unsigned sign = (bits >> 16) & 0x8000u;
  unsigned result;
  if (size >= 0x7f800000u) {
    result = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
  } else if (size < 0x38800000u) {  // below the smallest normal number
    result = static_cast<unsigned>(nearbyintf(ldexpf(fabsf(value), 24)));
  } else {
    const unsigned rounded = size - 0x38000000u + 0xfffu + ((size >> 13) & 1u);
    result = rounded >= 0x0f800000u ? 0x7c00u : rounded >> 13;
  }
  return static_cast<unsigned short>(sign | result);
}
inline unsigned short to_bf16(float value) {
  const unsigned bits = __float_as_uint(value);
  return static_cast<unsigned short>(value != value ? (bits >> 16) | 0x40u
                                                    : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

namespace cuda_shim {

inline uint3 thread_index, block_index, block_size, grid_size;

enum class State { ready, at_barrier, in_warp, done };

/// A copy in the background is done at the last moment.
struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
};

struct Fibre {
  ucontext_t context;
  std::vector<char> stack;
  State state = State::ready;
  int line = 0;         // of the barrier
  unsigned rounds = 0;  // exchanges of its warp that it has come to
  std::uint64_t slot[2] = {0, 0};
  std::vector<std::vector<Copy>> copies;  // in the background, by the call that waits for them
};

struct Machine {
  std::vector<Fibre> fibres;
  std::size_t count = 0, current = 0;
  ucontext_t scheduler;
  std::vector<unsigned char> dynamic;
  std::string problem;
  void (*call)(void*) = nullptr;
  void* closure = nullptr;
  bool progressed = false;

  static Machine& instance() {
    static Machine machine;
    return machine;
  }
  void leave(State state) {
    Fibre& fibre = fibres[current];
    fibre.state = state;
    swapcontext(&fibre.context, &scheduler);
  }
};

inline void barrier(int line) {
  Machine& machine = Machine::instance();
  machine.fibres[machine.current].line = line;
  machine.leave(State::at_barrier);
}

inline void copy_async(void* to, const void* from, std::size_t bytes) {
  Machine& machine = Machine::instance();
  machine.fibres[machine.current].copies.back().push_back({to, from, bytes});
}
/// Those of all but the last `calls` stretches that ended in such a call, this one included.
inline void finish_copies(std::size_t calls) {
  Machine& machine = Machine::instance();
  std::vector<std::vector<Copy>>& groups = machine.fibres[machine.current].copies;
  while (groups.size() > calls) {
    for (const Copy& copy : groups.front()) {
      std::memcpy(copy.to, copy.from, copy.bytes);
    }
    groups.erase(groups.begin());
  }
  groups.emplace_back();
}

inline void fibre_main() {
  Machine& machine = Machine::instance();
  machine.call(machine.closure);
  machine.leave(State::done);
}

/// All lanes of `mask` bring a value; afterwards each may read those of the others.
template <class T>
inline const Fibre* exchange(unsigned mask, T value) {
  static_assert(sizeof(T) <= 8, "a register or two");
  Machine& machine = Machine::instance();
  const std::size_t first = machine.current / 32 * 32, self = machine.current;
  const unsigned round = ++machine.fibres[self].rounds;
  std::memcpy(&machine.fibres[self].slot[round % 2], &value, sizeof value);
  machine.progressed = true;
  for (std::size_t lane = 0; lane < 32 && first + lane < machine.count; ++lane) {
    while ((mask >> lane & 1u) != 0 && machine.fibres[first + lane].rounds < round) {
      machine.leave(State::in_warp);
    }
  }
  machine.progressed = true;
  return &machine.fibres[first];
}
template <class T>
inline T taken(unsigned mask, T value, int source, int width) {
  const Fibre* const warp = exchange(mask, value);
  Machine& machine = Machine::instance();
  const int lane = static_cast<int>(machine.current % 32);
  const bool is_inside = source >= lane / width * width && source < (lane / width + 1) * width &&
                         machine.current - lane + static_cast<std::size_t>(source) < machine.count;
  T result = value;
  if (is_inside) {
    std::memcpy(&result, &warp[source].slot[warp[lane].rounds % 2], sizeof result);
  }
  return result;
}

inline void shuffle(std::vector<std::size_t>& order, std::uint64_t& state) {
  for (std::size_t i = order.size(); i > 1; --i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    std::swap(order[i - 1], order[(state >> 33) % i]);
  }
}

/// Runs the threads of one block; false and a problem if they cannot all finish.
inline bool run_block(Machine& machine, unsigned order_seed) {
  std::vector<std::size_t> order(machine.count);
  for (std::size_t t = 0; t < machine.count; ++t) {
    Fibre& fibre = machine.fibres[t];
    order[t] = order_seed == 1 ? machine.count - 1 - t : t;
    fibre.state = State::ready;
    fibre.rounds = 0;
    fibre.copies.assign(1, {});
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = fibre.stack.data();
    fibre.context.uc_stack.ss_size = fibre.stack.size();
    fibre.context.uc_link = nullptr;
    makecontext(&fibre.context, fibre_main, 0);
  }
  std::uint64_t random = order_seed;
  for (;;) {
    if (order_seed > 1) {
      shuffle(order, random);
    }
    machine.progressed = false;
    std::size_t done = 0, waiting = 0;
    for (std::size_t t : order) {
      Fibre& fibre = machine.fibres[t];
      if (fibre.state == State::ready || fibre.state == State::in_warp) {
        machine.progressed = machine.progressed || fibre.state == State::ready;
        machine.current = t;
        const auto thread = static_cast<unsigned>(t);
        thread_index = {thread % block_size.x, thread / block_size.x % block_size.y,
                        thread / block_size.x / block_size.y};
        swapcontext(&machine.scheduler, &fibre.context);
      }
      done += fibre.state == State::done ? 1 : 0;
      waiting += fibre.state == State::at_barrier ? 1 : 0;
    }
    if (done == machine.count) {
      return true;
    }
    if (waiting == machine.count) {
      for (std::size_t t = 0; t < machine.count; ++t) {
        if (machine.fibres[t].line != machine.fibres[0].line) {
          machine.problem = "threads wait at the barriers of line " +
                            std::to_string(machine.fibres[0].line) + " and of line " +
                            std::to_string(machine.fibres[t].line);
          return false;
        }
        machine.fibres[t].state = State::ready;
      }
    } else if (!machine.progressed) {
      machine.problem = std::to_string(waiting) + " of " + std::to_string(machine.count) +
                        " threads wait at a barrier, " + std::to_string(done) + " have ended";
      return false;
    }
  }
}

template <class... P>
struct Closure {
  void (*kernel)(P...);
  void* const* arguments;
  template <std::size_t... i>
  void run(std::index_sequence<i...>) {
    kernel(static_cast<P>(arguments[i])...);
  }
};

/// `order`: 0 forward, 1 backward, else the seed of a random order. Null if all went well.
template <class... P>
inline const char* launch(void (*kernel)(P...), void* const* arguments, const long long* grid,
                          const long long* block, long long dynamic_bytes, unsigned order) {
  Closure<P...> closure{kernel, arguments};
  Machine& machine = Machine::instance();
  machine.call = [](void* c) {
    static_cast<Closure<P...>*>(c)->run(std::make_index_sequence<sizeof...(P)>{});
  };
  machine.closure = &closure;
  machine.problem.clear();
  const auto size = [](const long long* n) {
    return uint3{static_cast<unsigned>(n[0]), static_cast<unsigned>(n[1]),
                 static_cast<unsigned>(n[2])};
  };
  block_size = size(block);
  grid_size = size(grid);
  machine.count = static_cast<std::size_t>(block[0] * block[1] * block[2]);
  if (machine.fibres.size() < machine.count) {
    machine.fibres = std::vector<Fibre>(machine.count);
    for (Fibre& fibre : machine.fibres) {
      fibre.stack.resize(128 * 1024);
    }
  }
  const long long blocks = grid[0] * grid[1] * grid[2];
  for (long long b = 0; b < blocks; ++b) {
    const auto at = static_cast<unsigned>(order == 1 ? blocks - 1 - b : b);
    block_index = {at % grid_size.x, at / grid_size.x % grid_size.y,
                   at / grid_size.x / grid_size.y};
    machine.dynamic.assign(static_cast<std::size_t>(dynamic_bytes) + 1024, 0x7f);
    if (!run_block(machine, order)) {
      return machine.problem.c_str();
    }
  }
  return nullptr;
}

}  // namespace cuda_shim

#define threadIdx ::cuda_shim::thread_index
#define blockIdx ::cuda_shim::block_index
#define blockDim ::cuda_shim::block_size
#define gridDim ::cuda_shim::grid_size

inline unsigned char* dynamic_shared() {
  unsigned char* const memory = cuda_shim::Machine::instance().dynamic.data();
  return memory + (1024 - reinterpret_cast<std::uintptr_t>(memory) % 1024) % 1024;
}

template <class T>
inline void copy_async(T* to, const T* from) {
  cuda_shim::copy_async(to, from, sizeof(T));
}
template <class T>
inline void copy_async_or_zero(T* to, const T* from, bool is_inside) {
  static const unsigned char zeros[16] = {};
  cuda_shim::copy_async(to, is_inside ? static_cast<const void*>(from) : zeros, sizeof(T));
}
template <int calls>
inline void finish_copies() {
  cuda_shim::finish_copies(calls);
}

// --- warps
// ----------------------------------------------------------------------------------------
template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int lane = static_cast<int>(cuda_shim::Machine::instance().current % 32);
  return cuda_shim::taken(mask, value, lane / width * width + source % width, width);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
  const int lane = static_cast<int>(cuda_shim::Machine::instance().current % 32);
  return cuda_shim::taken(mask, value, lane ^ lanes, width);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = static_cast<int>(cuda_shim::Machine::instance().current % 32);
  return cuda_shim::taken(mask, value, lane + static_cast<int>(delta), width);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = static_cast<int>(cuda_shim::Machine::instance().current % 32);
  return cuda_shim::taken(mask, value, lane - static_cast<int>(delta), width);
}
inline void __syncwarp(unsigned mask = 0xffffffffu) { cuda_shim::exchange(mask, 0); }

#include "cuda_shim_tensor.hpp"
