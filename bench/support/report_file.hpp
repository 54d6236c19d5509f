// SPDX-License-Identifier: Apache-2.0
// The JSON report of a benchmark: a file, standard output, or none.
//
// Own design. Not here: what a report holds.
#pragma once

#include <cstdio>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "tensorsmith/support/error.hpp"

namespace tensorsmith::bench {

class ReportFile {
 public:
  /// "": no report; "-": standard output. A file that exists is kept until write(). Throws Error if
  /// it cannot be written.
  explicit ReportFile(std::string path) : path_(std::move(path)) {
    if (is_file() && !std::ofstream(path_, std::ios::app)) {
      fail();
    }
  }

  /// Where lines for people go: not where the report goes.
  std::FILE* progress() const { return path_ == "-" ? stderr : stdout; }

  /// May be called after every case, so that a run that is killed leaves what it finished; standard
  /// output gets the last report only. Throws Error.
  void write(const nlohmann::ordered_json& report, bool is_last) const {
    if (is_file()) {
      std::ofstream file(path_);
      file << report.dump(2) << "\n";
      if (!file.flush()) {
        fail();
      }
    } else if (path_ == "-" && is_last) {
      std::printf("%s\n", report.dump(2).c_str());
    }
  }

 private:
  bool is_file() const { return !path_.empty() && path_ != "-"; }
  [[noreturn]] void fail() const { throw Error("cannot write \"" + path_ + "\""); }

  std::string path_;
};

}  // namespace tensorsmith::bench
