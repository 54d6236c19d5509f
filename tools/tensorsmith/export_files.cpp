// SPDX-License-Identifier: Apache-2.0
#include "export_files.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "command.hpp"

namespace tensorsmith::cli {
namespace {

std::vector<std::string> make_folders(const std::filesystem::path& folder) {
  std::vector<std::string> missing;
  std::error_code problem;
  for (std::filesystem::path part = std::filesystem::absolute(folder).lexically_normal();
       !std::filesystem::exists(part, problem) && part.has_relative_path();
       part = part.parent_path()) {
    if (part.has_filename()) {  // not "out/"
      missing.insert(missing.begin(), part.string());
    }
  }
  for (const std::string& path : missing) {
    std::filesystem::create_directory(path, problem);
    if (problem) {
      throw Error("cannot make the folder " + in_quotes(path, 1000) + ": " + problem.message());
    }
  }
  return missing;
}

}  // namespace

void FilesWritten::print() const {
  for (const std::string& path : folders) {
    fmt::print("made the folder {}\n", path);
  }
  for (const std::string& path : files) {
    fmt::print("{}\n", path);
  }
}

FilesWritten write_files(const std::string& folder, const std::vector<ExportedFile>& files,
                         bool overwrites, const std::vector<std::string>& inputs) {
  FilesWritten written;
  for (const ExportedFile& file : files) {
    std::string path = (std::filesystem::path(folder) / file.name).string();
    refuse_input_as_output(path, inputs);
    if (!overwrites && std::filesystem::exists(path)) {
      throw Error(in_quotes(path) + " exists; --force replaces it");
    }
    written.files.push_back(std::move(path));
  }
  written.folders = make_folders(folder);
  for (std::size_t i = 0; i < files.size(); ++i) {
    write_output(written.files[i], files[i].bytes);
  }
  return written;
}

}  // namespace tensorsmith::cli
