// SPDX-License-Identifier: Apache-2.0
// Files of the Ansor reference's data: where they are, plain or compressed, and how many of their
// rows a test compared.
//
// Test support. The folders are ansor/ and second/ansor/ of tests/data/golden; with
// TENSORSMITH_GOLDEN_DIR in the environment, only ansor/ of that one: other data of the same form
// run through the same tests. A file that such a folder lacks is named and skipped; one that ours
// lack fails. Format: tests/data/golden/ansor/README.md.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tensorsmith::test {

using Json = nlohmann::json;

struct GoldenFile {
  std::string name;  ///< as it is reported: "second/ansor/samples_cpu.jsonl"
  std::string path;
};
/// This file of every folder that has it. Throws std::runtime_error if one of ours lacks it.
std::vector<GoldenFile> golden_files(const std::string& file);
/// The same of the folders pruner/ and pruner/second/; of another folder, of its pruner/ alone.
std::vector<GoldenFile> pruner_files(const std::string& file);
/// The same of the folders felix/ and felix/second/.
std::vector<GoldenFile> felix_files(const std::string& file);
/// All networks of networks/, sorted; of another folder, of its networks/. Format:
/// tests/data/golden/networks/README.md.
std::vector<GoldenFile> golden_networks();
/// Whether the folders are the project's own.
bool golden_is_own();
/// A file of the project's first folder, whatever the environment says.
std::string own_golden_path(const std::string& file);

/// The text of `path`, or of `path`.gz if there is no such file. Throws std::runtime_error.
std::string read_text(const std::string& path);
/// One JSON value per line.
std::vector<Json> read_json_lines(const std::string& path);
std::vector<std::string> text_lines(const std::string& text);

/// The bytes of `path`, or of `path`.gz if there is no such file; f32 numbers, little endian.
std::vector<float> read_floats(const std::string& path);

/// Files of <folder>/logs, without ".gz", sorted.
std::vector<GoldenFile> golden_logs();

/// Counts what a test compares with one file; its end prints the number, and fails the test if it
/// is 0.
class ComparedRows {
 public:
  explicit ComparedRows(std::string file) : file_(std::move(file)) {}
  ComparedRows(const ComparedRows&) = delete;
  ComparedRows& operator=(const ComparedRows&) = delete;
  ~ComparedRows();
  ComparedRows& operator++() {
    ++count_;
    return *this;
  }
  std::size_t count() const { return count_; }
  /// Of what, if not lines of the file.
  ComparedRows& of(std::string what) {
    what_ = std::move(what);
    return *this;
  }

 private:
  std::string file_;
  std::string what_ = "rows";
  std::size_t count_ = 0;
};

}  // namespace tensorsmith::test
