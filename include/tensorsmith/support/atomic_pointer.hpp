// SPDX-License-Identifier: Apache-2.0
// AtomicPointer<T>: a pointer that threads read and replace without locks.
//
// Floor 0. Own design; what a list that only grows needs of std::atomic, without the 24,000 lines
// of <atomic> (compiler builtins of g++ and clang).
#pragma once

namespace tensorsmith {

template <class T>
class AtomicPointer {
 public:
  AtomicPointer() = default;
  AtomicPointer(const AtomicPointer&) = delete;
  AtomicPointer& operator=(const AtomicPointer&) = delete;

  /// Comes after everything that happened before this value was stored.
  T* load() const noexcept { return __atomic_load_n(&pointer_, __ATOMIC_ACQUIRE); }
  /// Stores `desired` if the pointer is `expected`; otherwise sets `expected` to what it is. May
  /// fail although it is equal.
  bool compare_exchange(T*& expected, T* desired) noexcept {
    return __atomic_compare_exchange_n(&pointer_, &expected, desired, true, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
  }

 private:
  T* pointer_ = nullptr;
};

}  // namespace tensorsmith
