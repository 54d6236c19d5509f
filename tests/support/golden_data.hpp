// Files of the Ansor reference's data: where they are, plain or compressed, and how many of their
// rows a test compared.
//
// Test support. The folder is $TENSORSMITH_GOLDEN_DIR/ansor, by default the copy in tests/data;
// other data of the same form run through the same tests. Format:
// tests/data/golden/ansor/README.md.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tensorsmith::test {

using Json = nlohmann::json;

/// A file of the folder.
std::string golden_path(const std::string& file);
/// The same file of the project's own copy, whatever the environment says.
std::string own_golden_path(const std::string& file);

/// The text of `path`, or of `path`.gz if there is no such file. Throws std::runtime_error.
std::string read_text(const std::string& path);
/// One JSON value per line.
std::vector<Json> read_json_lines(const std::string& path);
std::vector<std::string> text_lines(const std::string& text);

/// Files of <folder>/logs, without ".gz", sorted.
std::vector<std::string> golden_logs();

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
