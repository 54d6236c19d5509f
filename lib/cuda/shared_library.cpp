// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cuda/shared_library.hpp"

#include <dlfcn.h>

namespace tensorsmith::cuda {

void* open_library(const std::string& name, std::string& problem) {
  void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const text = ::dlerror();
    problem = text != nullptr ? text : name + " cannot be loaded";
  }
  return handle;
}

void* find_symbol(void* library, const char* name) { return ::dlsym(library, name); }

}  // namespace tensorsmith::cuda
