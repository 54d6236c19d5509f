// SPDX-License-Identifier: Apache-2.0
// Libraries that are opened at run time, and their functions.
//
// Floor 7; compiled in lib/cuda. Own design.
#pragma once

#include <cstring>
#include <string>

namespace tensorsmith::cuda {

/// Null: `problem` says why.
void* open_library(const std::string& name, std::string& problem);

/// Null for a name that the library does not have.
void* find_symbol(void* library, const char* name);

template <class Function>
bool find_function(void* library, const char* name, Function& function) {
  void* const symbol = find_symbol(library, name);
  static_assert(sizeof(symbol) == sizeof(function), "POSIX");
  std::memcpy(&function, &symbol, sizeof symbol);
  return symbol != nullptr;
}

}  // namespace tensorsmith::cuda
