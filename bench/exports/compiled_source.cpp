// SPDX-License-Identifier: Apache-2.0
#include "compiled_source.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <dlfcn.h>
#include <unistd.h>

#include "tensorsmith/support/error.hpp"

namespace tensorsmith::bench {

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Calls the exported function, whatever its parameters are, with the pointers of an array.
std::string caller_source(const std::string& function) {
  return "#include <cstddef>\n#include <utility>\n#include \"" + function +
         ".hpp\"\n"
         "namespace {\n"
         "template <class... P, std::size_t... I>\n"
         "void call(void (*f)(P...), void* const* a, std::index_sequence<I...>) {\n"
         "  f(static_cast<P>(a[I])...);\n"
         "}\n"
         "template <class... P> void call(void (*f)(P...), void* const* a) {\n"
         "  call(f, a, std::index_sequence_for<P...>());\n"
         "}\n"
         "}\n"
         "extern \"C\" void run(void* const* a) { call(&" +
         function + ", a); }\n";
}

}  // namespace

CompiledSource::CompiledSource(const KernelSource& source, const std::string& compiler,
                               const std::string& machine_flag) {
  static int number = 0;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() /
      ("exports-" + std::to_string(getpid()) + "-" + std::to_string(number++));
  std::filesystem::create_directories(folder);
  const std::string name = source.function_name;
  std::ofstream(folder / (name + ".cpp")) << source.source;
  std::ofstream(folder / (name + ".hpp")) << source.header;
  std::ofstream(folder / "caller.cpp") << caller_source(name);
  const std::string library = (folder / "kernel.so").string();
  const std::string command = "cd " + folder.string() + " && " + compiler + " -std=c++17 -O2 " +
                              machine_flag + " -Wall -Wextra -Werror -shared -fPIC -o kernel.so " +
                              name + ".cpp caller.cpp 2> log";
  std::string messages;
  if (std::system(command.c_str()) != 0) {
    messages = text_of(folder / "log");
  } else {
    handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    run_ = handle_ == nullptr ? nullptr
                              : reinterpret_cast<void (*)(void* const*)>(dlsym(handle_, "run"));
    messages = run_ == nullptr ? dlerror() : "";
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (run_ == nullptr) {
    throw Error(compiler + " cannot compile the exported kernel: " + messages);
  }
}

CompiledSource::~CompiledSource() {
  if (handle_ != nullptr) {
    dlclose(handle_);
  }
}

}  // namespace tensorsmith::bench
