// SPDX-License-Identifier: Apache-2.0
// Owned<T>: an object with one owner, which destroys it; moving hands it on.
//
// Floor 0. Own design; the part of std::unique_ptr that the public headers need, without <memory>.
// T may be incomplete where an Owned<T> is only declared; constructors, destructor and assignment
// of the class that holds it then belong into a source file.
#pragma once

#include <type_traits>
#include <utility>

namespace tensorsmith {

template <class T>
class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  /// An object of a class that is derived from T, which needs a virtual destructor.
  template <class U>
  requires(!std::is_same_v<U, T> && std::is_convertible_v<U*, T*>) Owned(Owned<U>&& other)
  noexcept : object_(other.release()) {}
  Owned& operator=(const Owned&) = delete;
  Owned& operator=(Owned&& other) noexcept {
    delete std::exchange(object_, std::exchange(other.object_, nullptr));
    return *this;
  }
  ~Owned() {
    static_assert(sizeof(T) > 0, "an incomplete type cannot be destroyed");
    delete object_;
  }

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  /// The object, which the caller owns from now on.
  T* release() { return std::exchange(object_, nullptr); }

 private:
  template <class U, class... Args>
  friend Owned<U> make_owned(Args&&... args);
  explicit Owned(T* object) : object_(object) {}

  T* object_ = nullptr;
};

/// A new T(args...).
template <class T, class... Args>
Owned<T> make_owned(Args&&... args) {
  return Owned<T>(new T(std::forward<Args>(args)...));
}

}  // namespace tensorsmith
