// DeviceLease: that nobody else of this machine measures on a GPU at the same time unknowingly.
//
// Own design. A locked file per GPU, in $TENSORSMITH_LEASE_FOLDER or /tmp; the lock goes with its
// holder, however that ends. TENSORSMITH_SHARE_GPU=1 does without. Not here: other programs.
#pragma once

#include <string>

#include "measure/shared_memory.hpp"

namespace tensorsmith::cuda {

class DeviceLease {
 public:
  /// Empty if the GPU with that UUID is ours now, else one sentence that names the holder.
  std::string take(const std::string& uuid, const std::string& name);
  void release() { file_.reset(); }

 private:
  FileDescriptor file_;
};

}  // namespace tensorsmith::cuda
