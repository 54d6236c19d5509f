#include "tensorsmith/kernel.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "cpu/thread_pool.hpp"
#include "tensorsmith/codegen/llvm_compiler.hpp"
#include "tensorsmith/support/error.hpp"

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
      : signature(std::move(its_signature)), pool(num_threads),
        workspace(workspace_bytes(signature, num_threads)) {}

  KernelSignature signature;
  ThreadPool pool;
  AlignedBuffer<std::uint8_t> workspace;
  std::optional<JitKernel> code;
};

Kernel::Kernel(KernelSignature signature, std::span<const std::byte> object,
               std::int32_t num_threads) {
  if (num_threads < 1) {
    throw Error("Kernel: the number of threads must be at least 1, is " +
                std::to_string(num_threads));
  }
  impl_ = make_shared_of<Impl>(std::move(signature), num_threads);
  CompiledObject compiled;
  compiled.object.assign(reinterpret_cast<const char*>(object.data()), object.size());
  compiled.entry = impl_->signature.entry;
  compiled.shared_bytes = impl_->signature.shared_bytes;
  compiled.per_thread_bytes = impl_->signature.per_thread_bytes;
  Result<JitKernel, std::string> code = JitKernel::load(compiled);
  if (!code) {
    throw Error("Kernel: the code cannot be loaded: " + code.error());
  }
  impl_->code.emplace(std::move(code).value());
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
  impl_->code->entry()(arguments, impl_->workspace.data(), &impl_->pool.runtime());
}

}  // namespace tensorsmith
