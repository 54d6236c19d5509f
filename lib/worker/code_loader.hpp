// SPDX-License-Identifier: Apache-2.0
// CodeLoader: turns relocatable object code into callable addresses.
//
// Private to lib/ and tools/: the worker and Kernel. The interface keeps callers free of the
// linker's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tensorsmith/codegen/kernel_abi.hpp"

namespace tensorsmith {

class CodeLoader {
 public:
  CodeLoader() = default;
  CodeLoader(const CodeLoader&) = delete;
  CodeLoader& operator=(const CodeLoader&) = delete;
  virtual ~CodeLoader() = default;

  virtual std::string name() const = 0;
  /// Makes `slot` hold a copy of this object code (and nothing else). False: see `problem`.
  virtual bool load(std::size_t slot, std::span<const std::byte> object, std::string& problem) = 0;
  /// Null: see `problem`.
  virtual KernelEntry find(std::size_t slot, const std::string& entry, std::string& problem) = 0;
  /// Frees the code of `slot`; its entries must not be called any more.
  virtual void unload(std::size_t slot) = 0;
};

/// Links with LLVM's just-in-time linker. Null: see `problem`.
std::unique_ptr<CodeLoader> make_orc_loader(std::string& problem);

}  // namespace tensorsmith
