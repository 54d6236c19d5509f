// SPDX-License-Identifier: Apache-2.0
// Callback<R(Args...)>: an owned, copyable function object, or nothing.
//
// Floor 0. Own design; the part of std::function that the interfaces of the library need, without
// the 28,000 lines of <functional>. A copy copies its target.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace tensorsmith {

template <class Signature>
class Callback;

template <class R, class... Args>
class Callback<R(Args...)> {
 public:
  Callback() = default;
  Callback(std::nullptr_t) {}
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Callback> &&
                                              std::is_invocable_r_v<R, std::decay_t<F>&, Args...>>>
  Callback(F&& function) : target_(new Holder<std::decay_t<F>>(std::forward<F>(function))) {}
  Callback(const Callback& other)
      : target_(other.target_ == nullptr ? nullptr : other.target_->clone()) {}
  Callback(Callback&& other) noexcept : target_(std::exchange(other.target_, nullptr)) {}
  // Two and not one by value: clang 14 leaks the parameter of `callback = {}` in a template.
  Callback& operator=(const Callback& other) {
    Callback copy(other);
    std::swap(target_, copy.target_);
    return *this;
  }
  Callback& operator=(Callback&& other) noexcept {
    Callback taken(std::move(other));
    std::swap(target_, taken.target_);
    return *this;
  }
  ~Callback() { delete target_; }

  explicit operator bool() const { return target_ != nullptr; }
  /// Only if there is a target.
  R operator()(Args... args) const { return target_->call(std::forward<Args>(args)...); }

 private:
  struct Target {
    virtual ~Target() = default;
    virtual R call(Args... args) = 0;
    virtual Target* clone() const = 0;
  };
  template <class F>
  struct Holder final : Target {
    explicit Holder(F f) : function(std::move(f)) {}
    R call(Args... args) override { return function(std::forward<Args>(args)...); }
    Target* clone() const override { return new Holder(function); }
    F function;
  };
  Target* target_ = nullptr;
};

}  // namespace tensorsmith
