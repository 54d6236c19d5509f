// SPDX-License-Identifier: Apache-2.0
// DeviceLease: that nobody else of this machine measures on a GPU at the same time unknowingly.
//
// Floor 7; compiled in lib/cuda. Own design. A locked file per GPU, in $TENSORSMITH_LEASE_FOLDER or
// /tmp; the lock goes with its holder, however that ends. TENSORSMITH_SHARE_GPU=1 does without. Not
// here: other programs.
#pragma once

#include <string>

#include "tensorsmith/support/owned.hpp"

namespace tensorsmith {
class FileDescriptor;
}  // namespace tensorsmith

namespace tensorsmith::cuda {

class DeviceLease {
 public:
  /// Empty if the GPU with that UUID is ours now, else one sentence that names the holder.
  std::string take(const std::string& uuid, const std::string& name);
  void release();

  DeviceLease();
  DeviceLease(const DeviceLease&) = delete;
  DeviceLease& operator=(const DeviceLease&) = delete;
  ~DeviceLease();

 private:
  Owned<FileDescriptor> file_;
};

}  // namespace tensorsmith::cuda
