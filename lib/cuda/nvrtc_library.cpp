// SPDX-License-Identifier: Apache-2.0
#include "nvrtc_library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

namespace tensorsmith::cuda {
namespace {

namespace fs = std::filesystem;

// The newest first. Cubins of 12 load with drivers of 12 and later ones, those of 13 do not load
// with drivers of 12; who needs the older one names it.
constexpr const char* library_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};

struct Opened {
  void* handle = nullptr;
  std::string problem;
};

Opened open_file(const std::string& name) {
  Opened opened;
  opened.handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened.handle == nullptr) {
    const char* const text = ::dlerror();
    opened.problem = text != nullptr ? text : name + " cannot be loaded";
  }
  return opened;
}

/// A library, or the newest one in a folder.
Opened open_path(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    return open_file(path.string());
  }
  Opened last;
  last.problem = "no libnvrtc.so in " + path.string();
  for (const char* name : library_names) {
    if (fs::exists(path / name, ignored)) {
      last = open_file((path / name).string());
      if (last.handle != nullptr) {
        return last;
      }
    }
  }
  return last;
}

template <class Function>
bool find(void* handle, const char* name, Function& function) {
  void* const symbol = ::dlsym(handle, name);
  static_assert(sizeof(symbol) == sizeof(function), "POSIX");
  std::memcpy(&function, &symbol, sizeof symbol);
  return symbol != nullptr;
}

Result<NvrtcLibrary, std::string> resolve(void* handle, const std::string& asked) {
  NvrtcLibrary library;
  const bool is_whole = find(handle, "nvrtcVersion", library.version) &&
                        find(handle, "nvrtcCreateProgram", library.create_program) &&
                        find(handle, "nvrtcDestroyProgram", library.destroy_program) &&
                        find(handle, "nvrtcCompileProgram", library.compile_program) &&
                        find(handle, "nvrtcGetProgramLogSize", library.log_size) &&
                        find(handle, "nvrtcGetProgramLog", library.log) &&
                        find(handle, "nvrtcGetCUBINSize", library.cubin_size) &&
                        find(handle, "nvrtcGetCUBIN", library.cubin) &&
                        find(handle, "nvrtcGetErrorString", library.error_text);
  if (!is_whole) {
    return fail(asked + " is no NVRTC of version 11.2 or newer");
  }
  library.path = asked;
  Dl_info info{};
  void* symbol = nullptr;
  std::memcpy(&symbol, &library.version, sizeof symbol);
  if (::dladdr(symbol, &info) != 0 && info.dli_fname != nullptr) {
    library.path = info.dli_fname;
  }
  return library;
}

}  // namespace

Result<NvrtcLibrary, std::string> NvrtcLibrary::open(const std::string& path) {
  const char* const environment = std::getenv("TENSORSMITH_NVRTC");
  const bool is_named = !path.empty() || (environment != nullptr && *environment != 0);
  if (is_named) {
    const std::string named = path.empty() ? environment : path;
    const Opened opened = open_path(named);
    if (opened.handle == nullptr) {
      return fail("NVRTC cannot be opened at \"" + named + "\"" +
                  (path.empty() ? " (TENSORSMITH_NVRTC)" : "") + ": " + opened.problem);
    }
    return resolve(opened.handle, named);
  }
  for (const char* name : library_names) {
    if (const Opened opened = open_file(name); opened.handle != nullptr) {
      return resolve(opened.handle, name);
    }
  }
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* const home = std::getenv(variable); home != nullptr && *home != 0) {
      folders.push_back(std::string(home) + "/lib64");
      folders.push_back(std::string(home) + "/lib");
    }
  }
  folders.push_back("/usr/local/cuda/lib64");
  folders.push_back("/usr/local/cuda/lib");
  folders.push_back(TENSORSMITH_NVRTC_FOLDER);
  std::string looked;
  for (const std::string& folder : folders) {
    if (const Opened opened = open_path(folder); opened.handle != nullptr) {
      return resolve(opened.handle, folder);
    }
    looked += (looked.empty() ? "" : ", ") + folder;
  }
  return fail(
      "NVRTC was not found (looked for libnvrtc.so.13, .12 and .11.2 on the system and in " +
      looked +
      "): install the CUDA toolkit, run scripts/setup.sh --nvrtc, or set TENSORSMITH_NVRTC "
      "to the library or its folder");
}

}  // namespace tensorsmith::cuda
