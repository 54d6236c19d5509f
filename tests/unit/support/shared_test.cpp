// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/shared.hpp"

#include "support/catch.hpp"

#include <string>
#include <thread>
#include <vector>

#include "tensorsmith/support/owned.hpp"

using namespace tensorsmith;

namespace {

struct Counted {
  explicit Counted(int& destroyed, int value = 0) : destroyed(destroyed), value(value) {}
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { ++destroyed; }
  int& destroyed;
  int value;
};

/// In a template, where compilers have forgotten the parameter of the assignment.
template <class Nothing>
int destroyed_by_nothing(Nothing nothing) {
  int destroyed = 0;
  Shared<Counted> pointer = make_shared_of<Counted>(destroyed);
  pointer = {};
  pointer = make_shared_of<Counted>(destroyed);
  pointer = nothing;
  return destroyed;
}

}  // namespace

TEST_CASE("a shared object that is let go is destroyed") {
  CHECK(destroyed_by_nothing(nullptr) == 2);
}

TEST_CASE("a shared object lives as long as its last owner") {
  int destroyed = 0;
  Shared<Counted> first = make_shared_of<Counted>(destroyed, 7);
  CHECK(first.use_count() == 1);
  {
    const Shared<const Counted> second = first;
    CHECK(second == first);
    CHECK(second->value == 7);
    CHECK((*second).value == 7);
    CHECK(first.use_count() == 2);
  }
  CHECK(first.use_count() == 1);
  Shared<Counted> moved = std::move(first);
  CHECK(first == nullptr);
  CHECK(first.use_count() == 0);
  CHECK(moved.use_count() == 1);
  CHECK(destroyed == 0);
  moved.reset();
  CHECK(destroyed == 1);
  CHECK_FALSE(static_cast<bool>(moved));
}

TEST_CASE("assignment of shared pointers drops the old object and survives itself") {
  int destroyed = 0;
  Shared<Counted> a = make_shared_of<Counted>(destroyed, 1);
  const Shared<Counted> b = make_shared_of<Counted>(destroyed, 2);
  a = b;
  CHECK(destroyed == 1);
  CHECK(a->value == 2);
  const Shared<Counted>& same = a;
  a = same;
  CHECK(a.use_count() == 2);
  CHECK(destroyed == 1);
  a = nullptr;
  CHECK(a == nullptr);
  CHECK(b.use_count() == 1);
}

TEST_CASE("a pointer to a part keeps the whole, and Shared<void> anything") {
  int destroyed = 0;
  Shared<Counted> whole = make_shared_of<Counted>(destroyed, 5);
  const Shared<const int> part(whole, &whole->value);
  Shared<void> any = whole;
  whole.reset();
  any.reset();
  CHECK(destroyed == 0);
  CHECK(*part == 5);
  CHECK(part.use_count() == 1);
}

TEST_CASE("a shared object is const only if asked for") {
  const Shared<std::string> text = make_shared_of<std::string>("a");
  text->push_back('b');
  const Shared<const std::string> constant = make_shared_of<const std::string>("ab");
  CHECK(*text == *constant);
  CHECK_FALSE(text == Shared<std::string>());
  static_assert(std::is_same_v<decltype(*constant), const std::string&>);
  static_assert(!std::is_convertible_v<Shared<const std::string>, Shared<std::string>>);
}

TEST_CASE("threads that copy and drop one shared object destroy it once", "[threads]") {
  for (int round = 0; round < 50; ++round) {
    int destroyed = 0;
    Shared<Counted> owner = make_shared_of<Counted>(destroyed);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([mine = owner]() mutable {
        std::vector<Shared<const Counted>> copies;
        for (int i = 0; i < 200; ++i) {
          copies.emplace_back(mine);
          copies.emplace_back(copies.front());
        }
        mine.reset();
      });
    }
    owner.reset();
    for (std::thread& thread : threads) {
      thread.join();
    }
    REQUIRE(destroyed == 1);
  }
}

TEST_CASE("an owned object moves and is destroyed once") {
  int destroyed = 0;
  {
    Owned<Counted> first = make_owned<Counted>(destroyed, 3);
    Owned<Counted> second = std::move(first);
    CHECK_FALSE(static_cast<bool>(first));
    CHECK(second->value == 3);
    CHECK(second.get() == &*second);
    second = make_owned<Counted>(destroyed, 4);
    CHECK(destroyed == 1);
    CHECK((*second).value == 4);
  }
  CHECK(destroyed == 2);
}
