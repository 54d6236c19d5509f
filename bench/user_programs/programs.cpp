// SPDX-License-Identifier: Apache-2.0
#include "programs.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "families.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/te/notation.hpp"

namespace tensorsmith::bench {

const std::vector<ProgramFamily>& program_families() {
  static const std::vector<ProgramFamily> families = [] {
    std::vector<ProgramFamily> all;
    for (auto* add : {add_products, add_rows, add_grids, add_held_out}) {
      add(all);
    }
    return all;
  }();
  return families;
}

namespace {

std::string text_of(const ProgramFamily& family, const Sizes& sizes) {
  std::string text = family.name;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    text += (i == 0 ? ":" : "x") + std::to_string(sizes[i]);
  }
  return text;
}

}  // namespace

NamedProgram make_program(const std::string& text) {
  if (text.starts_with('@')) {
    std::ifstream file(text.substr(1));
    std::ostringstream all;
    all << file.rdbuf();
    if (!file) {
      throw Error("\"" + text.substr(1) + "\" cannot be read");
    }
    auto dag = te::read_notation(all.str());
    if (!dag) {
      throw Error(text.substr(1) + ": " + dag.error());
    }
    return {"files", text, {std::move(dag).value()}};
  }
  const std::string name = text.substr(0, text.find(':'));
  Sizes sizes;
  for (std::size_t at = name.size(); at < text.size();) {
    std::size_t length = 0;
    try {
      sizes.push_back(std::stoll(text.substr(at + 1), &length));
    } catch (const std::exception&) {
      throw Error("\"" + text + "\": expected sizes as in " + name + ":8x16");
    }
    at += length + 1;
    if (sizes.back() < 1 || (at < text.size() && text[at] != 'x')) {
      throw Error("\"" + text + "\": expected sizes as in " + name + ":8x16");
    }
  }
  std::string known;
  for (const ProgramFamily& family : program_families()) {
    known += (known.empty() ? "" : ", ") + family.name;
    if (family.name != name) {
      continue;
    }
    sizes = sizes.empty() ? family.examples.front() : sizes;
    if (sizes.size() != family.examples.front().size()) {
      throw Error("\"" + text + "\": expected the sizes " + family.sizes);
    }
    return {family.suite, text_of(family, sizes), family.make(sizes)};
  }
  throw Error("unknown program \"" + name + "\"; known: " + known);
}

std::vector<std::string> programs_of_suite(const std::string& suite) {
  std::vector<std::string> texts;
  for (const ProgramFamily& family : program_families()) {
    for (const Sizes& sizes : family.examples) {
      if (family.suite == suite) {
        texts.push_back(text_of(family, sizes));
      }
    }
  }
  if (texts.empty()) {
    throw Error("unknown suite \"" + suite + "\"; known: user_programs, user_held_out");
  }
  return texts;
}

}  // namespace tensorsmith::bench
