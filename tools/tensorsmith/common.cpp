// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "command.hpp"
#include "row_range.hpp"
#include "tensorsmith/host.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/support/file.hpp"
#include "tensorsmith/tune/defaults.hpp"

namespace tensorsmith::cli {
namespace {

std::string refusal(const std::string& expected, const std::string& text) {
  return "expected " + expected + ", got " + in_quotes(text);
}

CLI::Validator file_name() {
  return CLI::Validator(
      [](std::string& text) { return text.empty() ? refusal("a file name", text) : ""; }, "");
}

}  // namespace

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
  return CLI::Validator(
      [low, high](std::string& text) -> std::string {
        std::uint64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, value);
        if (read.ec == std::errc() && read.ptr == end && value >= low && value <= high) {
          return {};
        }
        return refusal(fmt::format("a whole number from {} to {}", low, high), text);
      },
      "");
}

CLI::Validator real_number(double low, double high) {
  return CLI::Validator(
      [low, high](std::string& text) -> std::string {
        double value = 0;
        const char* const end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, value);
        if (read.ec == std::errc() && read.ptr == end && value >= low && value <= high) {
          return {};  // not a number fails both comparisons
        }
        return refusal(fmt::format("a number from {} to {:.0f}", low, high), text);
      },
      "");
}

namespace {

/// Index notation in its canonical form, which names journals and records; that of a file for
/// @FILE. Other workload strings stay as they are.
CLI::Validator workload_text() {
  return CLI::Validator(
      [](std::string& text) {
        constexpr std::int64_t most_bytes = std::int64_t{1} << 20;
        try {
          if (text.starts_with('@')) {
            text = read_input(text.substr(1), most_bytes);
            text.erase(text.find_last_not_of(" \t\r\n") + 1);
          }
          if (!ops::is_expression(text) || row_range(text)) {
            return std::string();
          }
        } catch (const Error& error) {
          return std::string(error.what());
        }
        Result<ops::Workload, std::string> workload = ops::parse_workload(text);
        if (!workload) {
          return workload.error();
        }
        text = std::move(workload->name);
        return std::string();
      },
      "");
}

}  // namespace

void add_workload_argument(CLI::App& command, WorkloadOptions& options) {
  command
      .add_option("workload", options.workload,
                  "what to compute, e.g. gemm:512x512x512:f32 (see tensorsmith tune --list), "
                  "'C[i:512,j:512] += A[i,k:512]*B[k,j]' (docs/notation.md), or @FILE with that")
      ->transform(workload_text());
}

void add_workload_options(CLI::App& command, WorkloadOptions& options) {
  add_workload_argument(command, options);
  command.add_option(
      "--target", options.target,
      "host, a level or CPU name such as x86-64-v3 or znver4, a GPU of this machine "
      "(cuda, cuda:1, sm_90, h200), or a simulated one such as sim:a100 or sim:neoverse-n1 "
      "(tensorsmith devices lists them)");
  command
      .add_option("--db", options.database,
                  "journal of trials; default: a file in the cache folder")
      ->check(file_name());
  command.add_option("--threads", options.num_threads, "threads of the kernel")
      ->check(whole_number(1, 1024));
  command.add_flag("--json", options.is_json, "one JSON object on standard output");
}

namespace {

Target target_or_throw(Result<Target, std::string> target) {
  if (!target) {
    throw Error(target.error());
  }
  return std::move(target).value();
}

}  // namespace

Target parse_target(const std::string& name) { return target_or_throw(named_target(name)); }
Target parse_runnable_target(const std::string& name) {
  return target_or_throw(named_runnable_target(name));
}

void warn_of_threads(const Target& target, std::int32_t num_threads) {
  if (target.kind != TargetKind::cpu || target.is_simulated) {
    return;
  }
  const std::size_t present = probe_host().usable_cpus.size();
  if (present > 0 && static_cast<std::size_t>(num_threads) > present) {
    warn(fmt::format("{} threads share {} processor{}: they wait for each other, and more than {} "
                     "make nothing faster",
                     num_threads, present, present == 1 ? "" : "s", present));
  }
}

std::string journal_path(const WorkloadOptions& options) {
  const std::string path =
      options.database.empty() ? default_journal(options.workload) : options.database;
  if (path.empty()) {
    throw Error("neither XDG_CACHE_HOME nor HOME is set; name a journal with --db FILE");
  }
  return path;
}

JournalContents load_journal(const WorkloadOptions& options, const std::string& hint) {
  const std::string path = journal_path(options);
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) {
    if (problem) {
      throw Error("cannot open " + in_quotes(path) + ": " + problem.message());
    }
    throw Error("there is no journal " + in_quotes(path) + "; run tensorsmith tune " +
                one_line(options.workload, 200) + " first" + hint);
  }
  Result<JournalContents, RecordError> contents = read_journal(path);
  if (!contents) {
    throw Error(contents.error().message);
  }
  for (const SkippedLine& line : contents->skipped) {
    warn(fmt::format("{}:{}: skipped, {}", path, line.number, line.reason));
  }
  return std::move(contents).value();
}

std::string duration_text(double ns) {
  return ns < 1e3   ? fmt::format("{:.0f} ns", ns)
         : ns < 1e6 ? fmt::format("{:.2f} us", ns / 1e3)
         : ns < 1e9 ? fmt::format("{:.3f} ms", ns / 1e6)
                    : fmt::format("{:.3f} s", ns / 1e9);
}

std::string percent_text(double fraction) { return fmt::format("{:.0f} %", fraction * 100); }

void print_json(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
  std::fflush(stdout);
}

void refuse_input_as_output(const std::string& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    if (is_same_file(output, input)) {
      throw Error(in_quotes(output) + " is a file that is read (" + in_quotes(input) +
                  "); write to another one");
    }
  }
}

void write_output(const std::string& path, std::string_view text) {
  if (const Result<Done, FileError> written = write_file(path, text); !written) {
    throw Error(written.error().message);
  }
}

std::string read_input(const std::string& path, std::int64_t most_bytes) {
  Result<std::string, FileError> text = read_file(path, {most_bytes, true});
  if (!text) {
    constexpr std::string_view open = "cannot open ";
    const std::string& message = text.error().message;
    throw Error(message.starts_with(open) ? "cannot read " + message.substr(open.size()) : message);
  }
  return std::move(text).value();
}

void warn(const std::string& sentence) {
  std::fflush(stdout);
  constexpr std::size_t longest_sentence = 4000;  // lists of what is known are long, too
  // Not fmt: it throws when standard error is gone.
  std::fprintf(stderr, "tensorsmith: %s\n",
               one_line(with_short_words(sentence), longest_sentence).c_str());
}

}  // namespace tensorsmith::cli
