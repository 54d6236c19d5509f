// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
// Exported networks, compiled by every compiler found and run.
#include "tensorsmith/graph/export.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "tensorsmith/graph/examples.hpp"
#include "tensorsmith/graph/simplify.hpp"
#include "unit/graph/random_graphs.hpp"

using namespace tensorsmith;

namespace {

class ExportFolder {
 public:
  std::string operator/(const std::string& name) const { return (folder_.path() / name).string(); }
  void write(const std::vector<graph::NetworkFile>& files) const {
    for (const graph::NetworkFile& file : files) {
      std::ofstream(folder_.path() / file.name, std::ios::binary) << file.bytes;
    }
  }
  std::string path() const { return folder_.path().string(); }

 private:
  test::TemporaryFolder folder_;
};

struct Ran {
  int status = -1;
  std::string text;
};
Ran run_command(const std::string& command) {
  Ran ran;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) {
    ran.text += line.data();
  }
  const int status = ::pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

std::vector<graph::NetworkFile> exported(graph::Graph graph,
                                         const graph::NetworkExportOptions& options) {
  const auto simplified = graph::simplify(graph);
  INFO((simplified ? std::string() : simplified.error()));
  REQUIRE(simplified.has_value());
  const auto parts = graph::partition(graph);
  REQUIRE(parts.has_value());
  TuneOptions tune;
  tune.num_threads = options.num_threads;
  std::size_t num_found = 0;
  const auto schedules = graph::recorded_schedules(*parts, {}, tune, true, num_found);
  return graph::export_network(graph, *parts, schedules, options);
}

graph::Graph example(std::string_view name) {
  auto net = graph::example_network(name);
  REQUIRE(net.has_value());
  return std::move(*net);
}

std::vector<std::string> compilers() {
  std::vector<std::string> found;
  for (const char* compiler : {"g++", "clang++"}) {
    if (std::system((std::string(compiler) + " --version >/dev/null 2>&1").c_str()) == 0) {
      found.emplace_back(compiler);
    }
  }
  REQUIRE(!found.empty());
  return found;
}

constexpr const char* strict = " -std=c++17 -Wall -Wextra -Werror ";

Ran build_and_check(const ExportFolder& folder, const std::string& compiler,
                    const std::string& flags) {
  const Ran built = run_command(compiler + strict + flags + " -o " + (folder / "check") + " " +
                                (folder / "net.cpp") + " " + (folder / "net_check.cpp"));
  INFO(built.text);
  REQUIRE(built.status == 0);
  return run_command((folder / "check") + " " + folder.path());
}

}  // namespace

TEST_CASE("exported networks give the executor's bits", "[graph]") {
  for (const char* name : {"cnn", "encoder"}) {
    const ExportFolder folder;
    folder.write(exported(example(name), {}));
    for (const std::string& compiler : compilers()) {
      const Ran ran = build_and_check(folder, compiler, "-O1 -march=native");
      CAPTURE(name, compiler, ran.text);
      CHECK(ran.status == 0);
      CHECK(ran.text.find("equal, bit for bit") != std::string::npos);
    }
  }
}

TEST_CASE("exported random graphs give the executor's bits", "[graph]") {
  const std::string compiler = compilers().front();
  for (std::uint32_t number = 0; number < 4; ++number) {
    const ExportFolder folder;
    folder.write(exported(test::RandomGraph(number).make(), {}));
    const Ran ran = build_and_check(folder, compiler, "-O0 -march=native");
    CAPTURE(number, ran.text);
    CHECK(ran.status == 0);
    CHECK(ran.text.find("equal, bit for bit") != std::string::npos);
  }
}

TEST_CASE("exported networks run as loops, and with threads", "[graph]") {
  graph::NetworkExportOptions options;
  options.num_threads = 2;
  const ExportFolder folder;
  folder.write(exported(example("cnn"), options));
  for (const std::string& compiler : compilers()) {
    const Ran loops = build_and_check(folder, compiler, "-O1 -DPORTABLE_KERNEL");
    CAPTURE(compiler, loops.text);
    CHECK(loops.status == 0);
  }
  if (compilers().front() == "g++") {
    const Ran threads = build_and_check(folder, "g++", "-O1 -march=native -fopenmp");
    CAPTURE(threads.text);
    CHECK(threads.text.find("equal, bit for bit") != std::string::npos);
  }
}

TEST_CASE("weights of another network, or damaged ones, are refused", "[graph]") {
  const ExportFolder folder;
  const auto files = exported(example("cnn"), {});
  folder.write(files);
  const Ran good = build_and_check(folder, compilers().front(), "-O0 -march=native");
  REQUIRE(good.status == 0);
  const std::string check = (folder / "check") + " " + folder.path(), path = folder / "net.weights";
  std::string weights;
  for (const graph::NetworkFile& file : files) {
    weights = file.name == "net.weights" ? file.bytes : weights;
  }
  const auto refused = [&](const std::string& bytes, const char* why) {
    std::ofstream(path, std::ios::binary) << bytes;
    const Ran ran = run_command(check);
    CAPTURE(ran.text);
    CHECK(ran.status == 2);
    CHECK(ran.text.find(why) != std::string::npos);
  };
  CounterRng rng(test::seed(), 78);
  for (int i = 0; i < 8; ++i) {
    std::string damaged = weights;
    const std::size_t at = rng.next_u64() % damaged.size();
    // The 40 bytes behind the head's numbers mean nothing.
    const bool has_meaning = at < 8 || (at >= 16 && at < 24) || at >= 64;
    damaged[has_meaning ? at : 0] ^= static_cast<char>(1 + rng.next_u64() % 255);
    refused(damaged, "damaged, or belongs to another network");
  }
  refused(weights.substr(0, weights.size() / 2), "another size");
  refused({}, "another size");
  std::filesystem::remove(path);
  CHECK(run_command(check).text.find("cannot be opened") != std::string::npos);
}

TEST_CASE("networks whose name is no identifier are not exported", "[graph]") {
  graph::NetworkExportOptions options;
  options.name = "my-net";
  CHECK_THROWS_AS(exported(example("cnn"), options), Error);
}
