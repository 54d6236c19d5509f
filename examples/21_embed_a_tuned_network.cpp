// SPDX-License-Identifier: Apache-2.0
// Lesson 21: a network tuned, called, and written as C++ that a program of yours takes in.
//
// requires: llvm json
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tensorsmith/graph/builder.hpp"
#include "tensorsmith/graph/executor.hpp"
#include "tensorsmith/graph/export.hpp"
#include "tensorsmith/graph/simplify.hpp"

namespace ts = tensorsmith;
using ts::graph::List;

static void require(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
  }
}

// Your program: it knows the exported class and nothing of this library.
constexpr const char* your_program = R"(#include <cstdio>
#include <cstdlib>
#include <vector>

#include "digits.hpp"

int main(int, char** arguments) {
  digits::Network network(arguments[1]);
  if (network.error() != nullptr) {
    std::fprintf(stderr, "%s\n", network.error());
    return 1;
  }
  std::vector<float> image(12 * 12, 0.5F), scores(10);
  network.run(image.data(), scores.data());
  for (const float score : scores) {
    std::printf("%.9g\n", static_cast<double>(score));
  }
}
)";

static ts::graph::Graph digits() {
  ts::graph::Builder net("digits");
  auto x = net.input("image", {1, 1, 12, 12});
  x = net.add("Relu", {net.add("Conv", {x, net.weights({8, 1, 3, 3})})});
  x = net.add("Flatten",
              {net.add("MaxPool", {x}, {{"kernel_shape", List{2, 2}}, {"strides", List{2, 2}}})});
  net.output("scores", net.add("Softmax", {net.add("MatMul", {x, net.weights({200, 10})})}));
  return net.finish();
}

int main() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                       ("tensorsmith_lesson_21_" + std::to_string(::rand()));
  std::filesystem::create_directories(folder);

  // Tuned under one budget for all tasks; trials are kept in a journal.
  ts::graph::Graph graph = digits();
  require(ts::graph::simplify(graph).has_value(), "the graph is sound");
  const auto parts = ts::graph::partition(graph);
  require(parts.has_value(), "every operator has a formula");
  ts::TasksOptions options;
  options.tune.budget.seconds = 2;
  options.tune.database = (folder / "digits.jsonl").string();
  const ts::graph::TunedKernels tuned = ts::graph::tuned_kernels(*parts, options);
  ts::graph::Executor network(graph, *parts, tuned.kernels);
  std::vector<float> image(12 * 12, 0.5F), scores(10);
  network(image, scores);
  std::printf("%lld trials, sum of the kernels %.0f ns\n",
              static_cast<long long>(tuned.result.trials), tuned.result.weighted_ns);

  // Written as C++ and a file of weights, with what the journal has.
  const auto records = ts::read_journal(options.tune.database);
  std::size_t num_found = 0;
  const auto schedules = ts::graph::recorded_schedules(
      *parts, records ? *records : ts::JournalContents(), options.tune, false, num_found);
  ts::graph::NetworkExportOptions naming;
  naming.name = "digits";
  for (const auto& file : ts::graph::export_network(graph, *parts, schedules, naming)) {
    std::ofstream(folder / file.name, std::ios::binary) << file.bytes;
    std::printf("%s: %zu bytes\n", file.name.c_str(), file.bytes.size());
  }

  // Taken into your program by any compiler.
  std::ofstream(folder / "main.cpp") << your_program;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  if (std::system("c++ --version >/dev/null 2>&1") == 0) {
    const std::string build = "c++ -std=c++17 -O1 -march=native -o " + path("program") + " " +
                              path("main.cpp") + " " + path("digits.cpp");
    require(std::system(build.c_str()) == 0, "the exported text compiles");
    require(std::system((path("program") + " " + path("digits.weights") + " >" + path("scores.txt"))
                            .c_str()) == 0,
            "the program runs");
    std::ifstream given(path("scores.txt"));
    for (const float score : scores) {
      double theirs = 0;
      given >> theirs;
      require(std::fabs(theirs - static_cast<double>(score)) < 1e-5, "both give the same scores");
    }
    std::printf("the program gives the same scores\n");
  }
  std::filesystem::remove_all(folder);
}
