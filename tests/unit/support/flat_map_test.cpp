// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/flat_map.hpp"

#include "support/catch.hpp"

#include <map>
#include <string>

#include "tensorsmith/support/hash_map.hpp"
#include "tensorsmith/support/rng.hpp"

using namespace tensorsmith;

TEST_CASE("a flat map behaves as std::map on random operations") {
  CounterRng rng(test::seed(), 21);
  for (int trial = 0; trial < 100; ++trial) {
    FlatMap<int, int> flat;
    std::map<int, int> model;
    for (int step = 0; step < 60; ++step) {
      CAPTURE(test::seed(), trial, step);
      const int key = static_cast<int>(rng.next_below(20));
      switch (rng.next_below(4)) {
      case 0:
        flat[key] = step;
        model[key] = step;
        break;
      case 1:
        REQUIRE(flat.emplace(key, step).second == model.emplace(key, step).second);
        break;
      case 2:
        flat.erase(key);
        model.erase(key);
        break;
      default: {
        const FlatMap<int, int>& constant = flat;
        const auto lower = model.lower_bound(key);
        const auto found = constant.lower_bound(key);
        REQUIRE((found == constant.end()) == (lower == model.end()));
        REQUIRE((lower == model.end() || lower->first == found->first));
        break;
      }
      }
      REQUIRE(flat.size() == model.size());
      REQUIRE(flat.empty() == model.empty());
      REQUIRE(flat.count(key) == model.count(key));
      REQUIRE((flat.find(key) == flat.end()) == (model.find(key) == model.end()));
      auto expected = model.begin();
      for (const auto& [at, value] : flat) {
        REQUIRE(at == expected->first);
        REQUIRE(value == expected->second);
        REQUIRE(flat.at(at) == value);
        ++expected;
      }
    }
  }
}

TEST_CASE("flat maps of the same entries are equal, whatever the order they came in") {
  FlatMap<std::string, int> a, b;
  a["x"] = 1;
  a["a"] = 2;
  b["a"] = 2;
  CHECK_FALSE(a == b);
  b["x"] = 1;
  CHECK(a == b);
}

TEST_CASE("a hash map finds what was set, through every growth") {
  HashMap<std::string, int> texts;
  HashMap<std::uint32_t, int> ids;
  HashSet<std::string> known;
  CHECK(texts.find("none") == nullptr);
  for (int i = 0; i < 1000; ++i) {
    REQUIRE_FALSE(texts.contains(std::to_string(i)));
    texts.set(std::to_string(i), i);
    ids.set(static_cast<std::uint32_t>(i) * 64, i);
    REQUIRE(known.insert(std::to_string(i)));
    REQUIRE_FALSE(known.insert(std::to_string(i / 2)));
  }
  texts.set("5", -5);
  CHECK(texts.size() == 1000);
  CHECK(ids.size() == 1000);
  CHECK(known.size() == 1000);
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(*texts.find(std::to_string(i)) == (i == 5 ? -5 : i));
    REQUIRE(*ids.find(static_cast<std::uint32_t>(i) * 64) == i);
    REQUIRE(ids.find(static_cast<std::uint32_t>(i) * 64 + 1) == nullptr);
  }
}
