// SPDX-License-Identifier: Apache-2.0
// Shared<T>: an object that all copies of the pointer own together; the last one destroys it.
//
// Floor 0. Own design; the part of std::shared_ptr that the library needs, without the 35,000 lines
// of <memory>. make_shared_of is the only way to make one: object and count are one allocation, and
// there are neither weak pointers nor deleters. Counts are atomic (compiler builtins of g++ and
// clang), so copies may be made and dropped in any thread; one and the same Shared is no more
// thread-safe than a raw pointer.
#pragma once

#include <type_traits>
#include <utility>

namespace tensorsmith {

namespace detail {

/// The count of owners, and how to destroy what they own.
class SharedCount {
 public:
  using Destroy = void (*)(SharedCount*);
  explicit SharedCount(Destroy destroy) : destroy_(destroy) {}
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;

  void add() noexcept { __atomic_fetch_add(&owners_, 1, __ATOMIC_RELAXED); }
  void drop() noexcept {
    if (owners() == 1 || __atomic_fetch_sub(&owners_, 1, __ATOMIC_ACQ_REL) == 1) {
      destroy_(this);
    }
  }
  long owners() const noexcept { return __atomic_load_n(&owners_, __ATOMIC_ACQUIRE); }

 protected:
  ~SharedCount() = default;

 private:
  long owners_ = 1;
  Destroy destroy_;
};

template <class T>
struct SharedBlock final : SharedCount {
  template <class... Args>
  explicit SharedBlock(Args&&... args)
      : SharedCount([](SharedCount* self) { delete static_cast<SharedBlock*>(self); }),
        object(std::forward<Args>(args)...) {}
  T object;
};

}  // namespace detail

template <class T>
class Shared {
 public:
  using element_type = T;

  Shared() = default;
  Shared(decltype(nullptr)) {}
  Shared(const Shared& other) noexcept : object_(other.object_), count_(other.count_) { add(); }
  Shared(Shared&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)),
        count_(std::exchange(other.count_, nullptr)) {}
  template <class U>
  requires std::is_convertible_v<U*, T*> Shared(Shared<U> other)
  noexcept
      : object_(std::exchange(other.object_, nullptr)),
        count_(std::exchange(other.count_, nullptr)) {}
  /// Points at `part`, which lives as long as what `owner` owns.
  template <class U>
  Shared(Shared<U> owner, T* part) noexcept
      : object_(part), count_(std::exchange(owner.count_, nullptr)) {}
  // Two and not one by value: clang 14 leaks the parameter of `pointer = {}` in a template.
  Shared& operator=(const Shared& other) noexcept { return exchange_with(Shared(other)); }
  Shared& operator=(Shared&& other) noexcept { return exchange_with(Shared(std::move(other))); }
  ~Shared() {
    if (count_ != nullptr) {
      count_->drop();
    }
  }

  T* get() const noexcept { return object_; }
  std::add_lvalue_reference_t<T> operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  void reset() noexcept { *this = Shared(); }

  /// The number of owners, 0 for an empty pointer. Whoever reads 1 through the only owner comes
  /// after everything the former owners did, and may write to the object.
  long use_count() const noexcept { return count_ == nullptr ? 0 : count_->owners(); }

  friend bool operator==(const Shared& a, const Shared& b) noexcept {
    return a.object_ == b.object_;
  }
  friend bool operator==(const Shared& a, decltype(nullptr)) noexcept {
    return a.object_ == nullptr;
  }

 private:
  template <class>
  friend class Shared;
  template <class U, class... Args>
  friend Shared<U> make_shared_of(Args&&... args);

  Shared& exchange_with(Shared&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(count_, other.count_);
    return *this;
  }
  void add() const noexcept {
    if (count_ != nullptr) {
      count_->add();
    }
  }

  T* object_ = nullptr;
  detail::SharedCount* count_ = nullptr;
};

/// A new T(args...) with one owner.
template <class T, class... Args>
Shared<T> make_shared_of(Args&&... args) {
  auto* block = new detail::SharedBlock<std::remove_const_t<T>>(std::forward<Args>(args)...);
  Shared<T> made;
  made.object_ = &block->object;
  made.count_ = block;
  return made;
}

}  // namespace tensorsmith
