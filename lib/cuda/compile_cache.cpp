// SPDX-License-Identifier: Apache-2.0
#include "compile_cache.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tensorsmith/te/md5.hpp"

namespace tensorsmith::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view first_line = "tensorsmith cubin 1\n";

struct Entry {
  fs::path path;
  fs::file_time_type used;
  std::int64_t bytes;
};

void shrink(const fs::path& folder, std::int64_t max_bytes) {
  std::vector<Entry> entries;
  std::int64_t total = 0;
  std::error_code problem;
  for (fs::recursive_directory_iterator at(folder, problem), end; !problem && at != end;
       at.increment(problem)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) && at->path().extension() == ".cubin") {
      entries.push_back({at->path(), at->last_write_time(ignored),
                         static_cast<std::int64_t>(at->file_size(ignored))});
      total += entries.back().bytes;
    }
  }
  if (total <= max_bytes) {
    return;
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= max_bytes / 4 * 3) {
      return;
    }
    std::error_code ignored;
    fs::remove(entry.path, ignored);
    total -= entry.bytes;
  }
}

fs::path path_of(const std::string& folder, const std::string& key) {
  return fs::path(folder) / key.substr(0, 2) / (key.substr(2) + ".cubin");
}

/// "<length of the log> <log><code>"
std::string payload_of(const CachedCubin& entry) {
  return std::to_string(entry.log.size()) + " " + entry.log + entry.code;
}

}  // namespace

std::string CompileCache::key(std::string_view text, std::string_view options,
                              std::string_view version) {
  std::string all;
  for (std::string_view part : {version, options, text}) {
    all += std::to_string(part.size());
    all += ' ';
    all += part;
  }
  return te::md5_hex(all);
}

Result<CompileCache, std::string> CompileCache::open(const std::string& folder,
                                                     std::int64_t max_bytes) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem || ::access(folder.c_str(), W_OK) != 0) {
    return fail("the compile cache cannot be kept in \"" + folder +
                "\": " + (problem ? problem.message() : "no permission to write there"));
  }
  shrink(folder, max_bytes);
  CompileCache cache;
  cache.folder_ = folder;
  return cache;
}

std::optional<CachedCubin> CompileCache::find(const std::string& key) const {
  const fs::path path = path_of(folder_, key);
  std::ifstream in(path, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  // first line, 32 digits of the checksum, new line, payload
  const std::size_t begin = first_line.size() + 33;
  if (file.size() < begin || file.compare(0, first_line.size(), first_line) != 0) {
    return std::nullopt;
  }
  const std::string payload = file.substr(begin);
  if (file.compare(first_line.size(), 32, te::md5_hex(payload)) != 0) {
    return std::nullopt;
  }
  const std::size_t space = payload.find(' ');
  const std::size_t log_size = std::stoul(payload);
  CachedCubin entry{payload.substr(space + 1 + log_size), payload.substr(space + 1, log_size)};
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return entry;
}

void CompileCache::add(const std::string& key, const CachedCubin& entry) const {
  static std::atomic<std::uint64_t> number{0};
  const fs::path path = path_of(folder_, key);
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  const fs::path draft =
      path.parent_path() / (path.stem().string() + "." + std::to_string(::getpid()) + "." +
                            std::to_string(number++) + ".draft");
  const std::string payload = payload_of(entry);
  std::ofstream out(draft, std::ios::binary);
  out << first_line << te::md5_hex(payload) << '\n' << payload;
  out.close();
  if (!out) {
    fs::remove(draft, ignored);
    return;
  }
  fs::rename(draft, path, ignored);
}

}  // namespace tensorsmith::cuda
