// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/core_probes.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include <sys/mman.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tensorsmith/support/rng.hpp"

namespace tensorsmith {
namespace {

constexpr std::size_t line_bytes = 64, page_bytes = 4096, row_bytes = 16384;
constexpr int num_passes = 3;

volatile std::uint64_t probe_sink = 0;

/// Memory of its own pages, written once.
class Memory {
 public:
  Memory(std::size_t num_bytes, bool has_large_pages) : num_bytes_(num_bytes) {
    void* at =
        ::mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
      return;
    }
    (void)::madvise(at, num_bytes, has_large_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    data_ = static_cast<std::byte*>(at);
    for (std::size_t i = 0; i < num_bytes; i += page_bytes) {
      data_[i] = std::byte{1};
    }
  }
  ~Memory() {
    if (data_ != nullptr) {
      ::munmap(data_, num_bytes_);
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return data_ != nullptr ? num_bytes_ : 0; }

 private:
  std::byte* data_ = nullptr;
  std::size_t num_bytes_;
};

template <class Work>
double ns_of(const Work& work) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  work();
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

/// Dependent additions of registers take a cycle each on every core of interest. Those of constants
/// do not: since Golden Cove registers are renamed by them, several in a cycle.
double ns_per_addition() {
  constexpr int num_rounds = 20'000;
  std::uint64_t x = probe_sink, y = x | 1;
  const double ns = ns_of([&] {
    for (int i = 0; i < num_rounds; ++i) {
#pragma GCC unroll 16
      for (int k = 0; k < 16; ++k) {
        x += y;
        __asm__ volatile("" : "+r"(x), "+r"(y));  // one after the other, none left out
      }
    }
  });
  probe_sink = x;
  return ns / (16 * num_rounds);
}

using Sum = std::uint64_t (*)(const std::byte* data, std::size_t num_bytes);

/// Eight sums of vectors of `V`; `num_bytes` is a multiple of eight vectors.
template <class V>
[[gnu::always_inline]] inline std::uint64_t sum_vectors(const std::byte* data,
                                                        std::size_t num_bytes) {
  V sums[8] = {};
  for (std::size_t i = 0; i < num_bytes; i += sizeof(sums)) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) {
      V one;
      std::memcpy(&one, data + i + k * sizeof(V), sizeof(V));
      sums[k] += one;
    }
  }
  V all = {};
  for (const V& one : sums) {
    all += one;
  }
  std::uint64_t sum = 0;
  for (std::size_t lane = 0; lane < sizeof(V) / sizeof(sum); ++lane) {
    sum += all[lane];
  }
  return sum;
}

using Vector16 = std::uint64_t __attribute__((vector_size(16)));
std::uint64_t sum_16(const std::byte* data, std::size_t num_bytes) {
  return sum_vectors<Vector16>(data, num_bytes);
}
#if defined(__x86_64__)
using Vector32 = std::uint64_t __attribute__((vector_size(32)));
using Vector64 = std::uint64_t __attribute__((vector_size(64)));
__attribute__((target("avx2"))) std::uint64_t sum_32(const std::byte* data, std::size_t num_bytes) {
  return sum_vectors<Vector32>(data, num_bytes);
}
__attribute__((target("avx512f"))) std::uint64_t sum_64(const std::byte* data,
                                                        std::size_t num_bytes) {
  return sum_vectors<Vector64>(data, num_bytes);
}
#endif

Sum widest_sum(std::int32_t vector_bits) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (vector_bits >= 512 && __builtin_cpu_supports("avx512f")) {
    return &sum_64;
  }
  if (vector_bits >= 256 && __builtin_cpu_supports("avx2")) {
    return &sum_32;
  }
#endif
  (void)vector_bits;
  return &sum_16;
}

/// Nanoseconds per step of a chase through the lines at `places`, in an order that no prefetcher
/// follows.
double chase_ns(std::byte* data, std::vector<std::size_t> places, std::size_t num_steps) {
  CounterRng rng(7, static_cast<std::uint32_t>(places.size()));
  for (std::size_t i = places.size(); i-- > 1;) {
    std::swap(places[i], places[rng.next_below(static_cast<std::uint32_t>(i + 1))]);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::byte* const next = data + places[(i + 1) % places.size()];
    std::memcpy(data + places[i], &next, sizeof(next));
  }
  const std::byte* at = data + places[0];
  const auto follow = [&](std::size_t steps) {
    for (std::size_t i = 0; i < steps; ++i) {
      std::memcpy(&at, static_cast<const void*>(at), sizeof(at));
    }
  };
  follow(std::min(places.size(), num_steps));  // warms what fits
  const double ns = ns_of([&] { follow(num_steps); });
  probe_sink = reinterpret_cast<std::uintptr_t>(at);
  return ns / static_cast<double>(num_steps);
}

std::vector<std::size_t> places_of(std::size_t count, std::size_t apart) {
  std::vector<std::size_t> places(count);
  for (std::size_t i = 0; i < count; ++i) {
    // Another set of the first cache for every page.
    places[i] = i * apart + (apart >= page_bytes ? i * line_bytes % page_bytes : 0);
  }
  return places;
}

void take_least(std::optional<double>& known, double value) {
  known = known ? std::min(*known, value) : value;
}
void take_most(std::optional<double>& known, double value) {
  known = known ? std::max(*known, value) : value;
}

/// Nanoseconds per line while `count` rows are read together, a line of each in turn.
double streams_ns(const Memory& memory, std::size_t& from, std::size_t count) {
  constexpr std::size_t wanted = std::size_t{4} << 20;
  const std::size_t block = count * row_bytes,
                    num_blocks = std::max<std::size_t>(1, wanted / block);
  if (from + num_blocks * block > memory.size()) {
    from = 0;
  }
  const std::byte* const data = memory.data() + from;
  from += num_blocks * block;
  std::uint64_t sum = 0;
  const double ns = ns_of([&] {
    for (std::size_t b = 0; b < num_blocks; ++b) {
      for (std::size_t at = 0; at < row_bytes; at += line_bytes) {
        for (std::size_t row = 0; row < count; ++row) {
          std::uint64_t words[8];
          std::memcpy(words, data + b * block + row * row_bytes + at, sizeof(words));
          sum += words[0] + words[2] + words[4] + words[6];
        }
      }
    }
  });
  probe_sink = sum;
  return ns / static_cast<double>(num_blocks * count * (row_bytes / line_bytes));
}

class Probing {
 public:
  Probing(const Target& target, const Callback<bool()>& is_cancelled)
      : is_cancelled_(is_cancelled), sum_(widest_sum(target.vector_bits)),
        l1_(target.caches.l1d_bytes.value_or(0)), l2_(target.caches.l2_bytes.value_or(0)),
        l3_(target.caches.l3_bytes.value_or(0)),
        memory_(std::clamp<std::size_t>(3 * static_cast<std::size_t>(std::max(l2_, l3_)),
                                        std::size_t{64} << 20, std::size_t{128} << 20),
                true),
        small_pages_(std::size_t{32} << 20, false) {}

  CoreProbes run() {
    CoreProbes probes;
    if (memory_.size() == 0 || small_pages_.size() == 0) {
      return probes;
    }
    for (int pass = 0; pass < num_passes && !is_over(); ++pass) {
      double ns = ns_per_addition();
      for (int i = 0; i < 4; ++i) {
        ns = std::min(ns, ns_per_addition());
      }
      probes.ns_per_cycle = pass == 0 ? ns : std::min(probes.ns_per_cycle, ns);
      read_levels(probes);
      chase(probes);
      step_over_pages();
      read_streams();
    }
    to_cycles(probes);
    judge_streams(probes);
    return probes;
  }

 private:
  bool is_over() const { return is_cancelled_ && is_cancelled_(); }

  /// Bytes that are beyond the level before and well inside of this one: 0, 1, 2 for L2, L3 and
  /// memory; 0 if sizes are not known.
  std::size_t bytes_in(std::size_t level) const {
    const std::int64_t before = level == 0 ? l1_ : level == 1 ? l2_ : l3_;
    const std::int64_t own = level == 0 ? l2_ : level == 1 ? l3_ : 0;
    if (level == 2) {
      return memory_.size();
    }
    if (before <= 0 || own <= 2 * before) {
      return 0;
    }
    // Of a shared cache others have a part.
    const std::int64_t wanted =
        std::max(2 * before, level == 0 ? own * 5 / 8 : std::min(own / 4, 8 * before));
    return static_cast<std::size_t>(wanted) / row_bytes * row_bytes;
  }

  void read_levels(CoreProbes& probes) {
    for (std::size_t level = 0; level < 3 && !is_over(); ++level) {
      const std::size_t bytes = bytes_in(level);
      if (bytes == 0) {
        continue;
      }
      const int repeats = level == 2 ? 1 : static_cast<int>((std::size_t{24} << 20) / bytes) + 1;
      probe_sink = sum_(memory_.data(), bytes);
      for (int block = 0; block < (level == 2 ? 1 : 4); ++block) {
        const double ns = ns_of([&] {
          for (int i = 0; i < (repeats + 3) / 4; ++i) {
            probe_sink = sum_(memory_.data(), bytes);
          }
        });
        take_most(probes.bytes_per_cycle[level],
                  static_cast<double>(bytes) * ((repeats + 3) / 4) / ns);
      }
    }
  }
  void chase(CoreProbes& probes) {
    for (std::size_t level = 0; level < 3 && !is_over(); ++level) {
      const std::size_t bytes =
          level == 2 ? std::min(memory_.size(), std::size_t{64} << 20) : bytes_in(level) * 3 / 4;
      if (bytes > 0) {
        const std::size_t apart = level == 2 ? 16 * line_bytes + line_bytes : line_bytes;
        take_least(probes.latency[level], chase_ns(memory_.data(), places_of(bytes / apart, apart),
                                                   level == 2 ? 8'000 : 30'000));
      }
    }
  }
  /// One line of each of ever more small pages: the lines stay in the first cache or come from the
  /// second, so that what a step takes more is what its page takes.
  void step_over_pages() {
    for (std::size_t i = 0; i < std::size(page_counts) && !is_over(); ++i) {
      const double ns = chase_ns(small_pages_.data(), places_of(page_counts[i], page_bytes),
                                 std::max<std::size_t>(page_counts[i] * 2, 10'000));
      page_ns_[i] = page_ns_[i] > 0 ? std::min(page_ns_[i], ns) : ns;
    }
  }
  void read_streams() {
    for (std::size_t i = 0; i < std::size(stream_counts) && !is_over(); ++i) {
      const double ns = streams_ns(memory_, from_, stream_counts[i]);
      stream_ns_[i] = stream_ns_[i] > 0 ? std::min(stream_ns_[i], ns) : ns;
    }
  }

  void to_cycles(CoreProbes& probes) const {
    const double cycle = probes.ns_per_cycle;
    for (std::size_t level = 0; level < 3; ++level) {
      if (probes.bytes_per_cycle[level]) {
        *probes.bytes_per_cycle[level] *= cycle;
      }
      if (probes.latency[level]) {
        *probes.latency[level] /= cycle;
      }
    }
    if (page_ns_[0] <= 0 || page_ns_[std::size(page_counts) - 1] <= 0) {
      return;
    }
    // The first step, and what the largest count takes more than those between.
    const double base = page_ns_[0] / cycle;
    std::size_t first = 1;
    while (first < std::size(page_counts) && page_ns_[first] / cycle < base + least_page_step) {
      ++first;
    }
    if (first + 1 < std::size(page_counts)) {
      probes.num_pages = static_cast<double>(page_counts[first - 1]);
      probes.page_miss[0] = std::max(0.5, page_ns_[first + 1] / cycle - base);
    }
    const double most = page_ns_[std::size(page_counts) - 1] / cycle - base;
    probes.page_miss[1] = std::max(most, probes.page_miss[0].value_or(0));
  }
  void judge_streams(CoreProbes& probes) const {
    constexpr double lost = 1.5;  // times the best: no longer fetched ahead
    std::size_t best = 0;
    for (std::size_t i = 0; i < std::size(stream_counts); ++i) {
      if (stream_ns_[i] <= 0) {
        return;
      }
      best = stream_ns_[i] < stream_ns_[best] ? i : best;
    }
    probes.best_streams = static_cast<double>(stream_counts[best]);
    probes.tracked = 1e9;
    double slope = 0, count = 0;
    for (std::size_t i = 0; i < std::size(stream_counts); ++i) {
      const double times = stream_ns_[i] / stream_ns_[best];
      if (i > best && times > lost) {
        probes.tracked = static_cast<double>(stream_counts[i - 1]);
        break;
      }
      if (i != best) {
        const double ratio = static_cast<double>(stream_counts[i]) / *probes.best_streams;
        slope += (times - 1) / (std::max(ratio, 1 / ratio) - 1);
        ++count;
      }
    }
    probes.stream_slope = count > 0 ? std::clamp(slope / count, 0.0, 0.5) : 0;
  }

  static constexpr std::size_t page_counts[] = {24, 48, 64, 96, 128, 256, 512, 4096, 8000};
  static constexpr std::size_t stream_counts[] = {1, 2, 4, 6, 8, 12, 16, 20, 24, 32};
  static constexpr double least_page_step = 3;  ///< cycles

  const Callback<bool()>& is_cancelled_;
  Sum sum_;
  std::int64_t l1_, l2_, l3_;
  Memory memory_, small_pages_;
  std::size_t from_ = 0;
  double page_ns_[std::size(page_counts)] = {};
  double stream_ns_[std::size(stream_counts)] = {};
};

}  // namespace

CoreProbes probe_core(const Target& target, const Callback<bool()>& is_cancelled) {
  return Probing(target, is_cancelled).run();
}

CoreRates with_probes(CoreRates rates, const CoreProbes& probes) {
  const auto take = [](double& rate, const std::optional<double>& measured) {
    if (measured && std::isfinite(*measured) && *measured >= 0) {
      rate = *measured;
    }
  };
  for (std::size_t level = 0; level < 3; ++level) {
    take(rates.bytes_per_cycle[level], probes.bytes_per_cycle[level]);
    take(rates.latency[level], probes.latency[level]);
  }
  take(rates.num_pages[0], probes.num_pages);
  take(rates.page_miss[0], probes.page_miss[0]);
  take(rates.page_miss[1], probes.page_miss[1]);
  take(rates.tracked, probes.tracked);
  take(rates.best_streams, probes.best_streams);
  take(rates.stream_slope, probes.stream_slope);
  return rates;
}

}  // namespace tensorsmith
