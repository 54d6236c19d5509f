// SPDX-License-Identifier: Apache-2.0
// The one include of Catch2 for every test: version 2.13 and version 3 look the same through it.
//
// Test support. Also the options of the test programs beyond Catch's own: --seed, --dump-state,
// --dump-source.
#pragma once
// And a guard: compilers know what was precompiled by its text, comments included, which ccache
// takes for the same whatever the comments say.
#ifndef TENSORSMITH_TESTS_SUPPORT_CATCH
#define TENSORSMITH_TESTS_SUPPORT_CATCH

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#define TENSORSMITH_CATCH_VERSION 3
#else
#include <catch2/catch.hpp>
#define TENSORSMITH_CATCH_VERSION 2
#endif

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tensorsmith::test {

#if TENSORSMITH_CATCH_VERSION == 3
using Catch::Approx;
#else
using Catch::Detail::Approx;
#endif

/// Seed of the randomised tests: --seed N on the command line, else TENSORSMITH_TEST_SEED, else 1.
/// Printed with every failure.
std::uint64_t seed();

/// How many of `count` random cases a build runs: all, or a sixteenth if its type does not optimise
/// (the sanitizers' do not); what a single test is compiled with says nothing.
constexpr std::uint32_t scaled(std::uint32_t count) {
#if defined(TENSORSMITH_TEST_ALL_CASES)
  return count;
#else
  return (count + 15) / 16;
#endif
}

/// --dump-state, --dump-source: a test that builds states or sources prints them too.
bool dump_state();
bool dump_source();

/// For a test that cannot run here: `if (!found) { skip("no clang++"); return; }`. The reason is
/// shown in the summary of scripts/test.sh, and the test case is counted as skipped.
void skip(const std::string& reason);

/// Thrown by failed TENSORSMITH_ASSERTs inside tests, so that they can be expected:
/// REQUIRE_THROWS_AS(..., tensorsmith::test::AssertionFailed).
struct AssertionFailed {
  std::string condition;
  std::string message;
};

}  // namespace tensorsmith::test

#endif
