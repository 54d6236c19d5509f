// SPDX-License-Identifier: Apache-2.0
// Programs of the native spaces: equal hashes where the printed loops are equal up to names, and
// nowhere else.
#include <cctype>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/native_gpu_space.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/ir/program_hash.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/step_json.hpp"
#include "tensorsmith/search/evolution/weighted_mutators.hpp"
#include "tensorsmith/sketch/native_rules.hpp"

namespace tensorsmith::test {
namespace {

/// The printed program with loops named by depth and buffers by the order in which they come.
class NormalText {
 public:
  explicit NormalText(const LoopProgram& program) {
    const std::string text = to_text(program);
    std::map<std::string, std::string> facts;  // of buffers, by name
    std::size_t begin = 0;
    for (std::size_t line = 0; begin < text.size(); ++line) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string one = text.substr(begin, end - begin);
      if (line < program.buffers.size()) {
        const std::string& name = program.buffers[line].name;
        is_ambiguous_ = !facts.emplace(name, one.substr(name.size())).second || is_ambiguous_;
      } else {
        add_line(one, facts);
      }
      begin = end + 1;
    }
    for (const std::string& name : order_) {
      text_ += facts[name] + "\n";
    }
  }

  const std::string& text() const { return text_; }
  bool is_ambiguous() const { return is_ambiguous_; }

 private:
  struct Loop {
    std::size_t indent;
    std::string name;
  };

  static bool is_of_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '@' ||
           c == '\'';
  }

  void add_line(const std::string& line, const std::map<std::string, std::string>& facts) {
    const std::size_t indent = line.find_first_not_of(' ');
    while (!loops_.empty() && loops_.back().indent >= indent) {
      loops_.pop_back();
    }
    const std::string loop_word = "for ";
    const bool is_loop = line.compare(indent, loop_word.size(), loop_word) == 0;
    std::size_t at = indent;
    std::string name_of_loop;
    if (is_loop) {
      at += loop_word.size();
      const std::size_t end = line.find(" in ", at);
      name_of_loop = line.substr(at, end - at);
      at = end;
    }
    std::string out(indent, ' ');
    out += is_loop ? "for #" + std::to_string(loops_.size()) : "";
    while (at < line.size()) {
      std::size_t end = at;
      while (end < line.size() && is_of_word(line[end])) {
        ++end;
      }
      if (end == at) {
        out += line[at++];
        continue;
      }
      out += named(line.substr(at, end - at), facts);
      at = end;
    }
    text_ += out + "\n";
    if (is_loop) {
      loops_.push_back({indent, name_of_loop});
    }
  }

  std::string named(const std::string& word, const std::map<std::string, std::string>& facts) {
    for (std::size_t depth = loops_.size(); depth-- > 0;) {
      if (loops_[depth].name == word) {
        return "#" + std::to_string(depth);
      }
    }
    if (facts.count(word) == 0) {
      return word;
    }
    std::size_t place = 0;
    while (place < order_.size() && order_[place] != word) {
      ++place;
    }
    if (place == order_.size()) {
      order_.push_back(word);
    }
    return "$" + std::to_string(place);
  }

  std::vector<Loop> loops_;
  std::vector<std::string> order_;
  std::string text_;
  bool is_ambiguous_ = false;
};

struct IdentityTally {
  std::size_t programs = 0, steps = 0, distinct = 0, ambiguous = 0;
};

/// Draws programs and mutates them; adds to `tally`.
template <class Population, class Mutators>
void check_identity(const SearchSpace& space, const Target& target, std::uint32_t count,
                    IdentityTally& tally) {
  std::map<std::string, ProgramHash> of_text;
  std::map<ProgramHash, std::string> of_hash;
  std::map<std::string, bool> histories;
  const auto add = [&](const State& state) {
    if (!histories.emplace(steps_json(state.steps()), true).second) {
      return;
    }
    const auto program = lower(state, target);
    if (!program) {
      return;
    }
    const NormalText text(*program);
    ++tally.programs;
    if (text.is_ambiguous()) {
      ++tally.ambiguous;
      return;
    }
    const ProgramHash hash = program_hash(*program);
    INFO(steps_json(state.steps()));
    CHECK(of_text.emplace(text.text(), hash).first->second == hash);
    CHECK(of_hash.emplace(hash, text.text()).first->second == text.text());
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    CounterRng rng(seed(), 41, i);
    std::optional<Candidate> program = draw_candidate(space, Population{}, rng);
    for (int n = 0; program && n < 4; ++n) {
      add(program->state);
      if (std::optional<Candidate> child = Mutators{}.mutate(space, *program, rng)) {
        program = std::move(child);
      }
    }
  }
  CHECK(of_text.size() == of_hash.size());
  tally.steps += histories.size();
  tally.distinct += of_hash.size();
}

SearchSpace cpu_space_for(const std::string& workload, const Target& target) {
  SketchOptions sketch_options;
  sketch_options.hardware = hardware_params(target);
  sketch_options.hardware.num_cores = 4;
  sketch_options.hardware.vector_unit_bytes = target.vector_bits / 8;
  sketch_options.collapse_axes = true;
  sketch_options.core_cache_bytes = 16384;
  SpaceOptions options = native_space_options();
  options.hardware = sketch_options.hardware;
  options.min_prefetch_bytes = sketch_options.core_cache_bytes;
  options.min_streamed_bytes = 1 << 16;
  return SearchSpace(
      generate_sketches(ops::parse_workload(workload)->dag, native_cpu_rules(), sketch_options),
      options);
}

void check_spaces(std::uint32_t count) {
  IdentityTally cpu, gpu;
  const Target host = Target::from_name("znver4").value();
  for (const char* workload : {"gemm:32x24x16:f32", "gemm:16x16x12:f32,bias,relu",
                               "conv2d:n=1,h=6,w=6,ci=4,co=8,k=3,s=1,p=1", "softmax:8x32"}) {
    INFO(workload);
    check_identity<NativeCpuPopulation, NativeCpuMutators>(cpu_space_for(workload, host), host,
                                                           count, cpu);
  }
  const Target board = Target::from_name("a100").value();
  for (const char* workload : {"gemm:32x24x16:f32", "softmax:8x32", "gemm:64x64x32:f16"}) {
    INFO(workload);
    check_identity<NativeGpuPopulation, NativeGpuMutators>(
        native_gpu_space(ops::parse_workload(workload)->dag, board), board, count, gpu);
  }
  for (const IdentityTally& tally : {cpu, gpu}) {
    CHECK(tally.distinct > count);
    CHECK(tally.distinct < tally.programs);  // some histories lower to the same
    CHECK(tally.ambiguous * 4 <= tally.programs);
    std::printf("  %zu histories, %zu programs lowered, %zu distinct, %zu ambiguous\n", tally.steps,
                tally.programs, tally.distinct, tally.ambiguous);
  }
}

}  // namespace

TEST_CASE("programs have equal hashes just where their printed loops are equal") {
  check_spaces(24);
}
TEST_CASE("many programs have equal hashes just where their printed loops are equal", "[.many]") {
  check_spaces(800);
}

}  // namespace tensorsmith::test
