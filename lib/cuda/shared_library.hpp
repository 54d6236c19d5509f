// Libraries that are opened at run time, and their functions.
#pragma once

#include <dlfcn.h>

#include <cstring>
#include <string>

namespace tensorsmith::cuda {

/// Null: `problem` says why.
inline void* open_library(const std::string& name, std::string& problem) {
  void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const text = ::dlerror();
    problem = text != nullptr ? text : name + " cannot be loaded";
  }
  return handle;
}

template <class Function>
bool find_function(void* handle, const char* name, Function& function) {
  void* const symbol = ::dlsym(handle, name);
  static_assert(sizeof(symbol) == sizeof(function), "POSIX");
  std::memcpy(&function, &symbol, sizeof symbol);
  return symbol != nullptr;
}

}  // namespace tensorsmith::cuda
