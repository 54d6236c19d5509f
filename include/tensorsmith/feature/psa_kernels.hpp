// SPDX-License-Identifier: Apache-2.0
// psa_kernels: what the analytic draft PSA would count if it counted bytes, a row per kernel.
//
// Floor 5. Own design on the counts of Pruner (psa_rows.hpp), which are words of one statement:
// here a kernel, or a nest of a CPU, is one row; accesses are sectors that a warp asks for and
// passes of the banks that serve it; what a fused epilogue or a computed copy reads and writes
// counts; the caches of a CPU are those of the context's target. Not here: what that takes
// (cost/psa_fixed.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/feature/feature_table.hpp"
#include "tensorsmith/feature/psa_accesses.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// One kernel, all of its blocks and threads unless it says otherwise.
struct PsaKernel {
  double num_blocks = 1, num_threads = 1;
  double ops = 0;             ///< of floats; a function counts as eight
  double results = 1;         ///< of a thread that wait for each other in no order
  double register_words = 0;  ///< of a thread at once
  double loads = 0;           ///< instructions of memory, of one thread
  double shared_bytes = 0;    ///< that a block keeps
  double passes = 0;          ///< of warps, through the banks of shared memory or lines of L1
  double global_bytes = 0;    ///< asked for, in whole sectors
  double large_bytes = 0;     ///< the same, of tensors that the board's L2 does not hold
  double unique_bytes = 0;    ///< of the tensors
  double waits = 0;           ///< of a thread, one after the other, for global memory
  double lanes = 1;           ///< of a vectorized loop
  double into_l1 = 0, into_l2 = 0, into_l3 = 0;  ///< bytes, of a CPU
  double is_gpu = 0;
};

inline constexpr std::array<std::string_view, 17> psa_kernel_tags{
    "num_blocks",   "num_threads", "ops",          "results",     "register_words", "loads",
    "shared_bytes", "passes",      "global_bytes", "large_bytes", "unique_bytes",   "waits",
    "lanes",        "into_l1",     "into_l2",      "into_l3",     "is_gpu"};
inline constexpr std::string_view psa_kernels_block_name = "psa_kernels";

namespace detail {

inline std::array<double*, psa_kernel_tags.size()> psa_kernel_fields(PsaKernel& kernel) {
  return {&kernel.num_blocks,     &kernel.num_threads, &kernel.ops,          &kernel.results,
          &kernel.register_words, &kernel.loads,       &kernel.shared_bytes, &kernel.passes,
          &kernel.global_bytes,   &kernel.large_bytes, &kernel.unique_bytes, &kernel.waits,
          &kernel.lanes,          &kernel.into_l1,     &kernel.into_l2,      &kernel.into_l3,
          &kernel.is_gpu};
}

/// Stores of one outermost loop.
class PsaKernelCounter {
 public:
  PsaKernelCounter(const StoreProgram& program, const Target& target)
      : program_(program),
        l2_bytes_(target.gpu && target.gpu->board ? static_cast<double>(target.gpu->board->l2_bytes)
                                                  : math::infinity),
        caches_{static_cast<double>(target.caches.l1d_bytes.value_or(32 << 10)),
                static_cast<double>(target.caches.l2_bytes.value_or(1 << 20)),
                static_cast<double>(target.caches.l3_share_bytes().value_or(2 << 20))} {}

  PsaKernel count(std::size_t first, std::size_t last) {
    PsaKernel kernel;
    std::vector<TensorId> in_global, in_shared;
    for (std::size_t s = first; s < last; ++s) {
      const FeatureStore& store = program_.stores[s];
      const AnnotationFeatures loops = annotation_features(program_, store);
      kernel.is_gpu = larger_of(kernel.is_gpu, loops.is_gpu ? 1.0 : 0.0);
      kernel.num_blocks = larger_of(kernel.num_blocks,
                                    loops.is_gpu ? loops.block[0] * loops.block[1] * loops.block[2]
                                                 : larger_of(1.0, loops.parallel.prod));
      kernel.num_threads =
          larger_of(kernel.num_threads, loops.thread[0] * loops.thread[1] * loops.thread[2]);
    }
    const bool is_gpu = kernel.is_gpu > 0;
    double most_ops = 0;
    for (std::size_t s = first; s < last; ++s) {
      const FeatureStore& store = program_.stores[s];
      PsaAccesses accesses(program_, store, known_);
      const double threads = is_gpu ? kernel.num_threads : 1;
      const double grid = is_gpu ? kernel.num_blocks : 1;
      const double ops = accesses.iterations() * float_ops(store.counts);
      kernel.ops += ops * threads * grid;
      const double steps = is_gpu ? shared_steps(s, first, last) : 1;
      double words = 0, loads = 0;
      for (const FeatureAccess& access : store.accesses) {
        const PsaAccess one = accesses.of(access, kernel.num_threads);
        const double bytes = bytes_of(program_.dtype(access.tensor));
        const FeatureScope scope =
            is_gpu ? scope_of(program_, access.tensor) : FeatureScope::global;
        // What a sum reads is held while it is used again, other operands pass through.
        const bool is_held =
            scope == FeatureScope::local || store.accesses[0].kind == AccessKind::read_write;
        words += is_held ? one.held * bytes / 4 : 1.0;
        if (scope != FeatureScope::local) {
          kernel.loads += one.instructions;
        }
        if (scope == FeatureScope::shared) {
          kernel.passes += one.passes * one.warps * grid;
          if (!has_item(in_shared, access.tensor)) {
            in_shared.push_back(access.tensor);
            kernel.shared_bytes += program_.allocation(access.tensor)->elements * bytes;
          }
        } else if (scope == FeatureScope::global) {
          const double asked = one.sectors * one.warps * grid * 32;
          kernel.global_bytes += asked;
          kernel.large_bytes += elements_of(access) * bytes > l2_bytes_ ? asked : 0.0;
          kernel.passes += one.lines * one.warps * grid;
          loads += access.kind == AccessKind::write ? 0 : one.instructions;
          if (!has_item(in_global, access.tensor)) {
            in_global.push_back(access.tensor);
            kernel.unique_bytes += elements_of(access) * bytes;
          }
        }
      }
      // As many loads wait together as registers take, and none across a barrier.
      constexpr double under_way = 16;
      kernel.waits += loads == 0 ? 0 : larger_of(steps, loads / under_way);
      if (ops > most_ops) {
        most_ops = ops;
        kernel.results = accesses.of(store.accesses[0], kernel.num_threads).held;
        kernel.lanes = larger_of(1.0, annotation_features(program_, store).vec.len);
      }
      kernel.register_words =
          larger_of(kernel.register_words,
                    scope_of(program_, store.tensor) == FeatureScope::shared ? 0.0 : words);
      if (!is_gpu) {
        kernel.into_l1 += accesses.bytes_beyond(caches_[0]);
        kernel.into_l2 += accesses.bytes_beyond(caches_[1]);
        kernel.into_l3 += accesses.bytes_beyond(caches_[2]);
      }
    }
    return kernel;
  }

 private:
  /// A choice between floats is none.
  static double float_ops(const OpCounts& counts) {
    return counts[OpClass::float_mad] + counts[OpClass::float_addsub] + counts[OpClass::float_mul] +
           counts[OpClass::float_divmod] + counts[OpClass::float_cmp] +
           8 * counts[OpClass::float_mathfunc];
  }
  double elements_of(const FeatureAccess& access) const {
    double elements = 1;
    if (access.pieces.empty()) {
      for (const std::int64_t length : program_.shape(access.tensor)) {
        elements *= static_cast<double>(length);
      }
    }
    for (const std::int64_t piece : access.pieces) {
      elements *= static_cast<double>(piece);
    }
    return elements;
  }
  /// Iterations of the loops that a store shares with another one: between them is a barrier, or
  /// at least the other's work.
  double shared_steps(std::size_t s, std::size_t first, std::size_t last) const {
    const FeatureStore& store = program_.stores[s];
    double most = 1;
    for (std::size_t other = first; other < last; ++other) {
      double steps = 1;
      const auto& loops = program_.stores[other].loops;
      for (std::size_t p = 0; other != s && p < loops.size() && p < store.loops.size() &&
                              loops[p].loop == store.loops[p].loop;
           ++p) {
        const FeatureLoop& loop = program_.loops[static_cast<std::size_t>(loops[p].loop)];
        steps *= is_thread_annotation(loop.annotation) ? 1.0 : loop.constant_extent();
      }
      most = larger_of(most, steps);
    }
    return most;
  }

  const StoreProgram& program_;
  double l2_bytes_;
  std::array<double, 3> caches_;
  algebra::Remembered<algebra::Bound> known_;
};

}  // namespace detail

/// In program order.
inline std::vector<PsaKernel> psa_kernels(const StoreProgram& program, const Target& target) {
  std::vector<PsaKernel> kernels;
  detail::PsaKernelCounter counter(program, target);
  const auto outermost = [&](std::size_t s) {
    const auto& loops = program.stores[s].loops;
    return loops.empty() ? -1 : loops[0].loop;
  };
  for (std::size_t first = 0; first < program.stores.size();) {
    std::size_t last = first + 1;
    while (last < program.stores.size() && outermost(last) == outermost(first)) {
      ++last;
    }
    kernels.push_back(counter.count(first, last));
    first = last;
  }
  return kernels;
}

inline const Shared<const BlockSchema>& psa_kernels_schema() {
  static const Shared<const BlockSchema> schema = make_shared_of<const BlockSchema>(
      std::string(psa_kernels_block_name),
      std::vector<std::string>(psa_kernel_tags.begin(), psa_kernel_tags.end()));
  return schema;
}

inline void write_psa_kernel(std::span<float> out, PsaKernel kernel) {
  const auto fields = detail::psa_kernel_fields(kernel);
  for (std::size_t c = 0; c < fields.size(); ++c) {
    out[c] = static_cast<float>(*fields[c]);
  }
}
inline PsaKernel read_psa_kernel(std::span<const float> values) {
  PsaKernel kernel;
  const auto fields = detail::psa_kernel_fields(kernel);
  for (std::size_t c = 0; c < fields.size(); ++c) {
    *fields[c] = values[c];
  }
  return kernel;
}

/// The row of the feature table.
inline FeatureExtractor psa_kernels_block() {
  return {psa_kernels_schema(),
          [](const ProgramView& view, const FeatureContext& context, FeatureBlock& block) {
            const auto& stores = view.part<store_program_of>(context);
            if (stores) {
              for (const PsaKernel& kernel : psa_kernels(*stores, context.target)) {
                write_psa_kernel(block.add_row(), kernel);
              }
            }
            return block.num_rows > 0;
          }};
}

}  // namespace tensorsmith
