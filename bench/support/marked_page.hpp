// SPDX-License-Identifier: Apache-2.0
// A page of the documentation with a part that a program writes, between two marks.
//
// Own design. Not here: the text of the part.
#pragma once

#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace tensorsmith::bench {

/// Throws std::runtime_error.
inline std::string read_text(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw std::runtime_error("cannot read \"" + path + "\"");
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Puts `part` between the lines "<!-- PROGRAM: begin -->" and "<!-- PROGRAM: end -->" of the page;
/// `checks`: only says on standard output whether that would change it. Returns the exit code: 1 if
/// it would, else 0. Throws std::runtime_error for a page without the marks.
inline int write_marked_page(const std::string& page, const std::string& program,
                             const std::string& part, bool checks) {
  const std::string begin_mark = "<!-- " + program + ": begin -->\n";
  const std::string end_mark = "<!-- " + program + ": end -->\n";
  const std::string old = read_text(page);
  const std::size_t begin = old.find(begin_mark), end = old.find(end_mark);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    throw std::runtime_error("\"" + page + "\" has no marks \"" + begin_mark + "\" and \"" +
                             end_mark + "\"");
  }
  const std::string text = old.substr(0, begin) + begin_mark + part + old.substr(end);
  if (!checks) {
    std::ofstream file(page);
    file << text;
    if (!file.flush()) {
      throw std::runtime_error("cannot write \"" + page + "\"");
    }
    return 0;
  }
  if (text != old) {
    std::printf("%s is not what the reports say; write it again without --check\n", page.c_str());
    return 1;
  }
  return 0;
}

}  // namespace tensorsmith::bench
