// SPDX-License-Identifier: Apache-2.0
// Result<T, E>: a value or the reason why there is none.
//
// Floor 0. Own design; a subset of what std::expected (C++23) offers. Used wherever "no" is a
// normal answer, as for an illegal step in a search. No allocation of its own, never throws.
#pragma once

#include <utility>
#include <variant>

#include "tensorsmith/support/assert.hpp"

namespace tensorsmith {

/// Wraps an error so that Result<T, E> can tell it from a value: `return fail(error);`
template <class E>
struct Failure {
  E error;
};
template <class E>
Failure<E> fail(E error) {
  return Failure<E>{std::move(error)};
}

template <class T, class E>
class [[nodiscard]] Result {
 public:
  Result(T value) : storage_(std::in_place_index<0>, std::move(value)) {}
  Result(Failure<E> failure) : storage_(std::in_place_index<1>, std::move(failure.error)) {}

  bool has_value() const { return storage_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & {
    TENSORSMITH_ASSERT(has_value(), "value() of a failed Result");
    return *std::get_if<0>(&storage_);
  }
  const T& value() const& {
    TENSORSMITH_ASSERT(has_value(), "value() of a failed Result");
    return *std::get_if<0>(&storage_);
  }
  T&& value() && {
    TENSORSMITH_ASSERT(has_value(), "value() of a failed Result");
    return std::move(*std::get_if<0>(&storage_));
  }
  const E& error() const {
    TENSORSMITH_ASSERT(!has_value(), "error() of a Result that holds a value");
    return *std::get_if<1>(&storage_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, E> storage_;
};

/// "Done" for operations that return nothing but may fail.
struct Done {};

}  // namespace tensorsmith
