// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/callback.hpp"

#include "support/catch.hpp"

#include <memory>

using namespace tensorsmith;

TEST_CASE("a callback calls, copies, moves and may be nothing") {
  Callback<int(int)> none;
  CHECK_FALSE(static_cast<bool>(none));
  CHECK_FALSE(static_cast<bool>(Callback<int(int)>(nullptr)));
  int calls = 0;
  Callback<int(int)> add([&calls, base = 10](int x) {
    ++calls;
    return base + x;
  });
  Callback<int(int)> copy = add;
  CHECK(copy(1) + add(2) == 23);
  CHECK(calls == 2);
  none = std::move(copy);
  CHECK(none(3) == 13);
  CHECK_FALSE(static_cast<bool>(copy));
  none = {};
  CHECK_FALSE(static_cast<bool>(none));
  const Callback<int(int)>& same = none;
  none = same;
  CHECK_FALSE(static_cast<bool>(none));
}

TEST_CASE("a callback owns its target, and a copy a copy of it") {
  auto shared = std::make_shared<int>(1);
  {
    const Callback<int()> first = [shared] { return *shared; };
    const Callback<int()> second = first;
    CHECK(shared.use_count() == 3);
    CHECK(second() == 1);
  }
  CHECK(shared.use_count() == 1);
}

namespace {

/// In a template, where compilers have forgotten the parameter of the assignment.
template <class Nothing>
long owners_after_nothing(Nothing nothing) {
  const auto shared = std::make_shared<int>(1);
  Callback<int()> callback = [shared] { return *shared; };
  callback = {};
  callback = [shared] { return *shared; };
  callback = nothing;
  return shared.use_count();
}

}  // namespace

TEST_CASE("a callback that becomes nothing lets its target go") {
  CHECK(owners_after_nothing(nullptr) == 1);
}

TEST_CASE("functions and references pass through") {
  const Callback<void(int&)> increment = [](int& x) { ++x; };
  int value = 1;
  increment(value);
  CHECK(value == 2);
}
