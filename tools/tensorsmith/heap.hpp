// SPDX-License-Identifier: Apache-2.0
// What the C library keeps of memory that was freed.
#pragma once

#include <algorithm>
#include <thread>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace tensorsmith::cli {

/// As many heaps as cores, for who shall need little memory: threads come and go, and each heap
/// that they had keeps what was freed in it. They then wait for each other, which costs a search a
/// fifth of its trials.
inline void keep_few_heaps() {
#if defined(__GLIBC__)
  mallopt(M_ARENA_MAX, static_cast<int>(std::max(2U, std::thread::hardware_concurrency())));
#endif
}

/// For who goes on for long after a search.
inline void give_back_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace tensorsmith::cli
