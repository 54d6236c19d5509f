// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/kernel.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "cpu/thread_pool.hpp"
#include "tensorsmith/codegen/llvm_compiler.hpp"
#include "tensorsmith/support/error.hpp"

namespace tensorsmith {

struct Runtime::Impl {
  explicit Impl(std::int32_t num_threads) : pool(num_threads) {}

  void reserve(const KernelSignature& signature) {
    const std::int64_t bytes =
        signature.shared_bytes + std::int64_t{pool.num_threads()} * signature.per_thread_bytes;
    const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    if (!workspace || workspace->size() < wanted) {
      workspace.emplace(wanted);
    }
  }

  ThreadPool pool;
  std::optional<AlignedBuffer<std::uint8_t>> workspace;
};

Runtime::Runtime(std::int32_t num_threads) {
  if (num_threads < 1) {
    throw Error("Runtime: the number of threads must be at least 1, is " +
                std::to_string(num_threads));
  }
  impl_ = make_shared_of<Impl>(num_threads);
}
std::int32_t Runtime::num_threads() const { return impl_->pool.num_threads(); }
std::size_t Runtime::workspace_bytes() const {
  return impl_->workspace ? impl_->workspace->size() : 0;
}

struct Kernel::Impl {
  Impl(KernelSignature its_signature, Runtime its_runtime)
      : signature(std::move(its_signature)), runtime(std::move(its_runtime)) {}

  KernelSignature signature;
  Runtime runtime;
  std::optional<JitKernel> code;
  std::optional<JitKernel> prepack;
};

Kernel::Kernel(KernelSignature signature, std::span<const std::byte> object,
               std::int32_t num_threads)
    : Kernel(std::move(signature), object, Runtime(num_threads)) {}

Kernel::Kernel(KernelSignature signature, std::span<const std::byte> object, Runtime runtime) {
  impl_ = make_shared_of<Impl>(std::move(signature), std::move(runtime));
  impl_->runtime.impl_->reserve(impl_->signature);
  CompiledBatch batch;
  batch.object.assign(reinterpret_cast<const char*>(object.data()), object.size());
  for (const std::string& entry : {impl_->signature.entry, impl_->signature.prepack_entry}) {
    if (!entry.empty()) {
      batch.kernels.push_back(CompiledObject{
          {}, entry, impl_->signature.shared_bytes, impl_->signature.per_thread_bytes});
    }
  }
  std::vector<Result<JitKernel, std::string>> code = JitKernel::load_batch(batch);
  for (const Result<JitKernel, std::string>& function : code) {
    if (!function) {
      throw Error("Kernel: the code cannot be loaded: " + function.error());
    }
  }
  impl_->code.emplace(std::move(code[0]).value());
  if (code.size() > 1) {
    impl_->prepack.emplace(std::move(code[1]).value());
  }
}

const KernelSignature& Kernel::signature() const { return impl_->signature; }
std::int32_t Kernel::num_threads() const { return impl_->runtime.num_threads(); }

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

std::vector<AlignedBuffer<std::byte>> Kernel::pack(std::span<const KernelOperand> constants) const {
  std::vector<AlignedBuffer<std::byte>> packed;
  if (!impl_->prepack) {
    return packed;
  }
  std::vector<KernelParameter> inputs;
  std::vector<void*> pointers;
  for (const KernelParameter& parameter : impl_->signature.prepack_parameters) {
    if (parameter.is_output) {
      packed.emplace_back(
          static_cast<std::size_t>(parameter.num_elements * bytes_of(parameter.dtype)));
    } else {
      inputs.push_back(parameter);
    }
  }
  const std::string problem = check_operands(std::span<const KernelParameter>(inputs), constants);
  if (!problem.empty()) {
    throw Error("Kernel::prepack: " + problem);
  }
  for (const KernelOperand& constant : constants) {
    pointers.push_back(const_cast<void*>(constant.data));
  }
  for (AlignedBuffer<std::byte>& buffer : packed) {
    pointers.push_back(buffer.data());
  }
  prepack_unchecked(pointers.data());
  return packed;
}

void Kernel::prepack_unchecked(void* const* arguments) const {
  Runtime::Impl& runtime = *impl_->runtime.impl_;
  impl_->prepack->entry()(arguments, runtime.workspace->data(), &runtime.pool.runtime());
}

void Kernel::call_unchecked(void* const* arguments) const {
  Runtime::Impl& runtime = *impl_->runtime.impl_;
  impl_->code->entry()(arguments, runtime.workspace->data(), &runtime.pool.runtime());
}

}  // namespace tensorsmith
