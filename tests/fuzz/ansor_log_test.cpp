// requires: json
// Damaged logs: records with bytes changed, cut, doubled and exchanged. Whatever the reader takes,
// it must write, read again and say the same. TENSORSMITH_FUZZ_SECONDS makes the run longer.
#include "tensorsmith/record/ansor_log.hpp"

#include <chrono>
#include <cstdlib>

#include "support/catch.hpp"
#include "support/golden_data.hpp"
#include "tensorsmith/record/ansor_history.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::test {
namespace {

class LineMutator {
 public:
  explicit LineMutator(std::uint64_t seed) : random_(seed) {}

  std::string mutate(std::string line, const std::string& other) {
    for (std::size_t count = 1 + below(4); count > 0; --count) {
      switch (below(6)) {
      case 0:
        if (!line.empty()) {
          line[below(line.size())] = static_cast<char>(below(256));
        }
        break;
      case 1:
        if (!line.empty()) {
          line.erase(below(line.size()), 1 + below(20));
        }
        break;
      case 2:
        line.insert(below(line.size() + 1), token());
        break;
      case 3: {  // a part of another record
        const std::size_t from = below(other.size());
        line.insert(below(line.size() + 1), other.substr(from, below(60)));
        break;
      }
      case 4:
        line.resize(below(line.size() + 1));
        break;
      default:
        replace_number(line);
      }
    }
    return line;
  }
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(random_.next_u64() % bound);
  }

 private:
  std::string token() {
    static const char* const tokens[] = {"[",  "]",      "{",          "}",       ",",     ":",
                                         "\"", "\\",     "null",       "-1",      "1e999", "0.5",
                                         "[[", "\"SP\"", "2147483648", "[\"FU\"", "\\u00", "\n"};
    return tokens[below(sizeof(tokens) / sizeof(tokens[0]))];
  }
  void replace_number(std::string& line) {
    const std::size_t at = line.find_first_of("0123456789", below(line.size() + 1));
    if (at != std::string::npos) {
      line.replace(at, 1, std::to_string(static_cast<std::int64_t>(random_.next_u64())));
    }
  }
  CounterRng random_;
};

/// Number of damaged lines that are records all the same.
std::size_t run(const std::vector<std::string>& lines, LineMutator& mutator, std::size_t rounds) {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    const std::string line =
        mutator.mutate(lines[mutator.below(lines.size())], lines[mutator.below(lines.size())]);
    const AnsorLog log = ansor_log_from_text(line);
    for (const AnsorRecord& record : log.records) {
      ++taken;
      const auto written = ansor_record_to_line(record);
      REQUIRE(written.has_value());
      const auto again = ansor_record_from_line(*written);
      INFO(line);
      REQUIRE(again.has_value());
      REQUIRE(again->steps == record.steps);
      REQUIRE(*ansor_record_to_line(*again) == *written);
    }
    const AnsorHistory history(log.records);
    (void)history.find(line, line, true);
  }
  return taken;
}

}  // namespace

TEST_CASE("the log reader takes damage", "[fuzz]") {
  std::vector<std::string> lines;
  for (const char* log : {"logs/matmul_512.json", "logs/failed_records.json"}) {
    for (const std::string& line : text_lines(read_text(own_golden_path(log)))) {
      lines.push_back(line);
    }
  }
  REQUIRE(lines.size() > 100);
  LineMutator mutator(seed());
  std::size_t rounds = 3000, taken = run(lines, mutator, rounds);
  const char* seconds = std::getenv("TENSORSMITH_FUZZ_SECONDS");
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 0);
  for (; std::chrono::steady_clock::now() < end; rounds += 3000) {
    taken += run(lines, mutator, 3000);
  }
  CHECK(taken > 0);
  CHECK(taken < rounds);
}

}  // namespace tensorsmith::test
