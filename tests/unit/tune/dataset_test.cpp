// SPDX-License-Identifier: Apache-2.0
// requires: llvm mlp json
#include "tensorsmith/tune/dataset.hpp"

#include "support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "tensorsmith/cost/program_model.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith {
namespace {

struct DatasetFolder {
  explicit DatasetFolder(const std::string& name)
      : path((std::filesystem::temp_directory_path() /
              ("tensorsmith-" + name + "-" + std::to_string(::getpid())))
                 .string()) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~DatasetFolder() { std::filesystem::remove_all(path); }
  std::string path;
};

DatasetIndex small_index() {
  DatasetIndex index;
  index.target = "sim:a100";
  add_network(index, "one", {{"gemm:64x64x64:f32", 2}, {"softmax:64x128", 1}});
  add_network(index, "two", {{"gemm:64x64x64:f32", 1}, {"gemm:32x96x64:f32", 3}});
  return index;
}

CollectOptions quick_collecting(std::int64_t trials) {
  CollectOptions options;
  options.trials = trials;
  options.tune.round_size = 16;
  options.tune.policy_params[0].second = "64";
  return options;
}

std::string dataset_refusal(const DatasetIndex& index, const std::string& folder) {
  try {
    (void)read_dataset(index, folder, ProgramModel(ProgramModelOptions::tenset_mlp()));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::size_t num_lines(const std::string& path) {
  std::ifstream file(path);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("an index of a dataset is read as it was written; networks share tasks", "[tune]") {
  DatasetIndex index = small_index();
  CHECK(index.files.size() == 3);
  CHECK(index.networks[1].tasks[0].first == index.networks[0].tasks[0].first);
  index.files[1].first = 3;
  index.files[1].end = 9;
  index.num_threads = 2;
  const auto back = dataset_index_from_text(dataset_index_text(index));
  REQUIRE(back);
  CHECK(*back == index);
  const DatasetIndex before = index;
  add_network(index, "two",
              before.networks[1].tasks.empty()
                  ? std::vector<std::pair<std::string, double>>{}
                  : std::vector<std::pair<std::string, double>>{{"gemm:64x64x64:f32", 1},
                                                                {"gemm:32x96x64:f32", 3}});
  CHECK(index == before);
}

TEST_CASE("damaged indices are refused in one sentence", "[tune]") {
  const std::string good = dataset_index_text(small_index());
  CHECK_FALSE(dataset_index_from_text("").has_value());
  CHECK_FALSE(dataset_index_from_text("{}").has_value());
  CHECK_FALSE(dataset_index_from_text("[1, 2]").has_value());
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"tensorsmith-dataset-1", "tensorsmith-dataset-9"},
           {"\"file\": \"0-", "\"file\": \"../0-"},
           {"\"file\": \"0-", "\"file\": \"/0-"},
           {"\"threads\": 1", "\"threads\": 0"},
           {"\"target\"", "\"tarret\""}}) {
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    const auto read = dataset_index_from_text(text);
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().find('\n') == std::string::npos);
  }
  // No damage does more than that.
  CounterRng rng(test::seed(), 0x696e6478U);
  for (int round = 0; round < 300; ++round) {
    std::string text = good;
    for (std::uint32_t i = 0; i < 1 + rng.next_below(3); ++i) {
      text[rng.next_below(static_cast<std::uint32_t>(text.size()))] =
          static_cast<char>(32 + rng.next_below(95));
    }
    const auto read = dataset_index_from_text(text);
    CHECK((read.has_value() || !read.error().empty()));
  }
}

TEST_CASE("a dataset is collected, goes on where it was ended, and is learned from", "[tune]") {
  const DatasetFolder folder("dataset");
  const DatasetIndex index = small_index();
  const CollectResult first = collect_dataset(index, folder.path, quick_collecting(48));
  CHECK(first.trials == 48);
  CHECK(first.num_short == 0);
  const std::string file = folder.path + "/" + index.files[0].path;
  const std::size_t lines = num_lines(file);
  // A run that was killed leaves a torn line.
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 5);
  const CollectResult second = collect_dataset(index, folder.path, quick_collecting(90));
  CHECK(second.trials == 90);
  CHECK(num_lines(file) > lines);
  const CollectResult third = collect_dataset(index, folder.path, quick_collecting(90));
  CHECK(third.trials == 90);
  CHECK(count_records(index, folder.path) == std::vector<std::size_t>{30, 30, 30});

  ProgramModelOptions options = ProgramModelOptions::tenset_mlp();
  options.num_epochs = 10;
  ProgramModel model(options);
  const Dataset dataset = read_dataset(index, folder.path, model);
  REQUIRE(dataset.tasks.size() == 3);
  CHECK(dataset.num_samples() >= 80);
  for (const MeasuredTask& task : dataset.tasks) {
    CHECK(task.best_ns > 0);
    CHECK(task.samples.size() + task.num_left_out == 30);
  }
  const DatasetQuality chance = dataset_quality(model, dataset);
  CHECK(chance.metrics.num_tasks == 3);
  model.update(dataset.samples());
  const DatasetQuality trained = dataset_quality(model, dataset);
  CHECK(trained.metrics.pair_accuracy > 0.6);
  REQUIRE(trained.networks.size() == 2);
  CHECK(trained.networks[0].num_tasks == 2);
  CHECK(trained.networks[0].top_1 > 0);
  CHECK(trained.networks[0].top_5 >= trained.networks[0].top_1);
  CHECK(trained.networks[0].top_5 <= 1 + 1e-9);
}

TEST_CASE("damaged files of a dataset and times that are none are refused by name", "[tune]") {
  const DatasetFolder folder("damaged-dataset");
  DatasetIndex index;
  index.target = "sim:a100";
  add_network(index, "one", {{"gemm:64x64x64:f32", 1}});
  (void)collect_dataset(index, folder.path, quick_collecting(16));
  const std::string file = folder.path + "/" + index.files[0].path;
  CHECK(dataset_refusal(index, folder.path).empty());
  std::ifstream in(file);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto write = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::trunc) << bytes;
  };
  const std::size_t line_end = text.find('\n');
  write(text.substr(0, line_end / 2) + "\n" + text.substr(line_end + 1));
  CHECK(dataset_refusal(index, folder.path).find("damaged: line 1") != std::string::npos);
  write("not a record\n");
  CHECK_FALSE(dataset_refusal(index, folder.path).empty());

  const auto contents = [&] {
    write(text);
    return read_journal(file);
  }();
  REQUIRE(contents);
  Record record = contents->records.front();
  record.status = MeasureStatus::ok;
  record.min_ns = record.median_ns = 0;
  write(record_to_line(record) + "\n");
  const std::string refusal = dataset_refusal(index, folder.path);
  CHECK_FALSE(refusal.empty());
  CHECK(refusal.find(index.files[0].path) != std::string::npos);
}

TEST_CASE("datasets are split by time within tasks, or by task", "[tune]") {
  DatasetIndex index = small_index();
  // Of ten records in the order of time the earliest is the test.
  const DatasetSplit within = split_within_tasks(index, {10, 0, 21}, 0.9);
  CHECK(within.test.files[0].first == 0);
  CHECK(within.test.files[0].end == 1);
  CHECK(within.train.files[0].first == 1);
  CHECK(within.train.files[0].end == 10);
  CHECK(within.train.files[2].end - within.train.files[2].first == 18);
  CHECK(within.test.files[1].end == within.test.files[1].first);

  CounterRng rng(test::seed(), 0x73706c74U);
  for (int round = 0; round < 50; ++round) {
    DatasetIndex many;
    many.target = "sim:a100";
    std::vector<std::size_t> counts;
    for (std::uint32_t i = 0; i < 2 + rng.next_below(9); ++i) {
      many.files.push_back({"gemm:8x8x" + std::to_string(8 + i), std::to_string(i)});
      counts.push_back(rng.next_below(30));
    }
    const DatasetSplit parts = split_by_task(many, counts, 0.3 + 0.6 * rng.next_double(),
                                             static_cast<std::uint64_t>(round));
    std::size_t num_train = 0;
    for (std::size_t i = 0; i < many.files.size(); ++i) {
      const bool trains = parts.train.files[i].end == DatasetFile::all;
      CHECK(trains != (parts.test.files[i].end == DatasetFile::all));
      num_train += trains ? 1 : 0;
    }
    CHECK(num_train < many.files.size());
  }
}

}  // namespace tensorsmith
