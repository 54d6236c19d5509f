#include "tensorsmith/kernel.hpp"

#include <algorithm>
#include <utility>

#include "cpu/code_loader.hpp"
#include "cpu/thread_pool.hpp"

namespace tensorsmith {
namespace {

std::size_t workspace_bytes(const KernelSignature& signature, std::int32_t num_threads) {
  const std::int64_t bytes =
      signature.shared_bytes + std::int64_t{num_threads} * signature.per_thread_bytes;
  return static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
}

}  // namespace

struct Kernel::Impl {
  Impl(KernelSignature its_signature, std::int32_t num_threads)
      : signature(std::move(its_signature)),
        pool(num_threads),
        workspace(workspace_bytes(signature, num_threads)) {}

  KernelSignature signature;
  ThreadPool pool;
  AlignedBuffer<std::uint8_t> workspace;
  std::unique_ptr<CodeLoader> loader;
  KernelEntry entry = nullptr;
};

Kernel::Kernel(KernelSignature signature, std::span<const std::byte> object,
               std::int32_t num_threads) {
  if (num_threads < 1) {
    throw Error("Kernel: the number of threads must be at least 1, is " +
                std::to_string(num_threads));
  }
  impl_ = std::make_shared<Impl>(std::move(signature), num_threads);
  std::string problem;
  impl_->loader = make_orc_loader(problem);
  if (impl_->loader == nullptr || !impl_->loader->load(0, object, problem)) {
    throw Error("Kernel: the code cannot be loaded: " + problem);
  }
  impl_->entry = impl_->loader->find(0, impl_->signature.entry, problem);
  if (impl_->entry == nullptr) {
    throw Error("Kernel: the code cannot be linked: " + problem);
  }
}

const KernelSignature& Kernel::signature() const { return impl_->signature; }
std::int32_t Kernel::num_threads() const { return impl_->pool.num_threads(); }

void Kernel::call(std::span<const KernelOperand> operands) const {
  const std::string problem = check_operands(impl_->signature, operands);
  if (!problem.empty()) {
    throw Error("Kernel: " + problem);
  }
  std::vector<void*> pointers;
  for (const KernelOperand& operand : operands) {
    pointers.push_back(const_cast<void*>(operand.data));
  }
  call_unchecked(pointers.data());
}

void Kernel::call_unchecked(void* const* arguments) const {
  impl_->entry(arguments, impl_->workspace.data(), &impl_->pool.runtime());
}

}  // namespace tensorsmith
