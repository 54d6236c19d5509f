// SPDX-License-Identifier: Apache-2.0
// requires: json
#include "bench/support/race.hpp"

#include <functional>
#include <memory>
#include <utility>

#include "bench/support/aligned_buffer.hpp"
#include "support/catch.hpp"

using namespace tensorsmith::bench;
using tensorsmith::test::Approx;

namespace {

constexpr std::int64_t size = 16;

/// out += a * b; right only if out was zero before.
void accumulate(const Buffers& buffers) {
  for (std::int64_t i = 0; i < size; ++i)
    for (std::int64_t k = 0; k < size; ++k)
      for (std::int64_t j = 0; j < size; ++j)
        buffers.output[i * size + j] += buffers.input[i * size + k] * buffers.weights[k * size + j];
}
void multiply(const Buffers& buffers) {
  for (std::int64_t i = 0; i < size * size; ++i)
    buffers.output[i] = 0;
  accumulate(buffers);
}

/// A library whose one operation is given.
class FakePeer final : public Peer {
 public:
  using Operation = std::function<void(const Buffers&)>;
  FakePeer(std::string name, Operation operation)
      : name_(std::move(name)), operation_(std::move(operation)) {}
  std::string name() const override { return name_; }
  std::string library_version() const override { return "1"; }
  std::string impl_info() const override { return "loops"; }
  Prepared prepare(const Problem&, const Buffers& buffers, PackingClass, int) override {
    buffers_ = buffers;
    return Prepared::yes();
  }
  void run() override { operation_(buffers_); }
  void write_output() override {}

 private:
  std::string name_;
  Operation operation_;
  Buffers buffers_;
};

struct Arena {
  AlignedBuffer a{size * size}, b{size * size}, c{size * size};
  Contest contest;
  RaceOptions options;
  Roofline roofline;
  std::vector<FoundPeer> peers;

  Arena() {
    a.fill_random(1);
    b.fill_random(2);
    GemmShape shape;
    shape.m = shape.n = shape.k = size;
    contest.problem = shape;
    contest.buffers = {a.data(), b.data(), nullptr, c.data()};
    contest.flop = 2.0 * size * size * size;
    contest.ours = [this] { multiply(contest.buffers); };
    options.pairs = 5;
    roofline.peak_gflops = 100;
    roofline.l1_gbps = roofline.l2_gbps = roofline.l3_gbps = roofline.dram_gbps = 100;
    roofline.l1_bytes = roofline.l2_bytes = roofline.l3_bytes = 1 << 20;
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  void add(const char* name, FakePeer::Operation operation) {
    peers.push_back({name, std::make_unique<FakePeer>(name, std::move(operation)), ""});
  }
  nlohmann::ordered_json run() { return race(contest, options, roofline, peers); }
};

}  // namespace

TEST_CASE("a race reports everybody whose result is right", "[race]") {
  Arena arena;
  arena.add("right", multiply);
  arena.peers.push_back({"absent", nullptr, "not installed"});
  const auto report = arena.run();
  CHECK(report["verified"] == true);
  CHECK(report["ours_gflops"].get<double>() > 0);
  CHECK(report["roofline_ns"].get<double>() > 0);
  CHECK(report["pairs"] == 5);
  REQUIRE(report["peers"].size() == 1);
  const auto& peer = report["peers"]["right"];
  CHECK(peer["gflops"].get<double>() > 0);
  CHECK(peer["ratio_p10"].get<double>() <= peer["ratio"].get<double>());
  CHECK(peer["ratio"].get<double>() <= peer["ratio_p90"].get<double>());
  CHECK(peer["impl"] == "loops");
  CHECK(report["left_out"]["absent"] == "not installed");
}

TEST_CASE("a wrong result of ours is not verified", "[race]") {
  Arena arena;
  SECTION("one element is off") {
    arena.contest.ours = [&] {
      multiply(arena.contest.buffers);
      arena.c[100] += 0.01F;
    };
  }
  SECTION("one element is never written") {
    arena.contest.ours = [&] {
      const float before = arena.c[100];
      multiply(arena.contest.buffers);
      arena.c[100] = before;
    };
  }
  SECTION("the output is added to") {
    arena.contest.ours = [&] { accumulate(arena.contest.buffers); };
  }
  SECTION("only the first run is right") {
    arena.contest.ours = [&, runs = 0]() mutable {
      multiply(arena.contest.buffers);
      arena.c[3] += ++runs > 1 ? 1.0F : 0.0F;
    };
  }
  const auto report = arena.run();
  CHECK(report["verified"] == false);
  CHECK(report["problem"].get<std::string>().find("our") == 0);
}

TEST_CASE("a time below the roofline is flagged", "[race]") {
  Arena arena;
  CHECK(arena.run()["below_roofline"] == false);
  arena.roofline.peak_gflops = 1e-3;  // of another minute: the peak next to the race counts
  CHECK(arena.run()["below_roofline"] == false);
  arena.roofline.l1_gbps = 1e-6;  // a memory that needs seconds
  CHECK(arena.run()["below_roofline"] == true);
}

TEST_CASE("a library with a wrong result does not race", "[race]") {
  Arena arena;
  arena.add("adds", accumulate);
  arena.add("right", multiply);
  const auto report = arena.run();
  CHECK(report["verified"] == true);
  CHECK(report["peers"].size() == 1);
  CHECK(report["peers"].contains("right"));
  CHECK(report["left_out"]["adds"].get<std::string>().find("its result differs") == 0);
}

TEST_CASE("an operation that no library has runs alone", "[race]") {
  Arena arena;
  arena.add("right", multiply);
  arena.contest.problem.reset();
  const auto report = arena.run();
  CHECK(report["verified"].is_null());
  CHECK(report["peers"].empty());
  CHECK(report["left_out"].contains("right"));
  CHECK(report["ours_ns"].get<double>() > 0);
}

TEST_CASE("a race that is stopped ends after its first round", "[race]") {
  Arena arena;
  arena.options.is_stopped = [] { return true; };
  CHECK(arena.run()["pairs"] == 1);
}
