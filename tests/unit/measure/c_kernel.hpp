// SPDX-License-Identifier: Apache-2.0
// Compiles small C kernels to object code for the measurement tests.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tensorsmith::test {

/// Declarations that every kernel text below starts with.
inline const char* c_prelude() {
  return "#include <stdint.h>\n"
         "#include <stddef.h>\n"
         "struct Runtime;\n"
         "typedef void (*Body)(void*, int64_t, int64_t, int32_t);\n"
         "struct Runtime { void (*parallel_for)(const struct Runtime*, Body, void*, int64_t);\n"
         "                 void* pool; int32_t num_threads; };\n"
         "#define KERNEL(name) void name(void* const* args, void* ws, const struct Runtime* rt)\n"
         "#define A ((const float*)args[0])\n"
         "#define B ((float*)args[1])\n";
}

inline std::string find_compiler() {
  for (const char* name : {"cc", "gcc", "clang", "clang-14"}) {
    if (std::system((std::string("command -v ") + name + " >/dev/null 2>&1").c_str()) == 0) {
      return name;
    }
  }
  return {};
}

inline std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars((std::istreambuf_iterator<char>(file)),
                                std::istreambuf_iterator<char>());
  std::vector<std::byte> bytes;
  for (const char c : chars) {
    bytes.push_back(static_cast<std::byte>(c));
  }
  return bytes;
}

/// Object code of `text` after the prelude; empty if there is no compiler or it complains.
inline std::vector<std::byte> compile_c(const std::string& text) {
  const std::string compiler = find_compiler();
  if (compiler.empty()) {
    return {};
  }
  std::string folder = "/tmp/tensorsmith-test-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    return {};
  }
  const std::string source = folder + "/kernel.c";
  const std::string object = folder + "/kernel.o";
  std::ofstream(source) << c_prelude() << text;
  const std::string command =
      compiler + " -O2 -w -fno-strict-aliasing -c " + source + " -o " + object + " 2>/dev/null";
  std::vector<std::byte> bytes;
  if (std::system(command.c_str()) == 0) {
    bytes = read_bytes(object);
  }
  std::remove(source.c_str());
  std::remove(object.c_str());
  ::rmdir(folder.c_str());
  return bytes;
}

}  // namespace tensorsmith::test
