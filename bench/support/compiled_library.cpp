// SPDX-License-Identifier: Apache-2.0
#include "compiled_library.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <dlfcn.h>
#include <unistd.h>

#include "tensorsmith/support/error.hpp"

namespace tensorsmith::bench {

CompiledLibrary::CompiledLibrary(const std::vector<std::pair<std::string, std::string>>& files,
                                 const std::string& compiler, const std::string& flags,
                                 const std::string& what) {
  static int number = 0;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() /
      ("bench-" + std::to_string(getpid()) + "-" + std::to_string(number++));
  std::filesystem::create_directories(folder);
  for (const auto& [name, text] : files) {
    std::ofstream(folder / name) << text;
  }
  const std::string command = "cd " + folder.string() + " && " + compiler +
                              " -shared -fPIC -o library.so " + flags + " 2> log";
  std::string messages;
  if (std::system(command.c_str()) != 0) {
    std::ifstream log(folder / "log");
    messages.assign(std::istreambuf_iterator<char>(log), {});
  } else {
    handle_ = dlopen((folder / "library.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    messages = handle_ == nullptr ? dlerror() : "";
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (handle_ == nullptr) {
    throw Error(compiler + " cannot compile " + what + ": " + messages);
  }
}

CompiledLibrary::~CompiledLibrary() {
  if (handle_ != nullptr) {
    dlclose(handle_);
  }
}

void* CompiledLibrary::symbol(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (found == nullptr) {
    throw Error(std::string("a library without the function ") + name);
  }
  return found;
}

}  // namespace tensorsmith::bench
