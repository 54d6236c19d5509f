// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/host.hpp"

#include "tensorsmith/lower/known_intrinsics.hpp"

namespace tensorsmith {

Result<Target, std::string> runnable_target(const std::string& name) {
  const Target& host = host_target();
  if (name == "host") {
    return host;
  }
  const Result<Target, UnknownTarget> named = Target::from_name(name);
  if (!named) {
    return fail(explain(named.error()) + ", host");
  }
  Target target = *named;
  if (target.is_simulated) {
    return target;
  }
  if (target.kind != TargetKind::cpu) {
    const bool is_board = target.gpu && target.gpu->board;
    return fail("target " + name + " needs a GPU backend, which this build does not have; " +
                (is_board ? "sim:" + name + " simulates it" : "sim:a100 is a simulated GPU"));
  }
  const bool is_runnable =
      target.architecture == host.architecture && target.vector_bits <= host.vector_bits &&
      (!target.has_fma || host.has_fma) && (!target.has_bf16_dot || host.has_bf16_dot);
  if (!is_runnable) {
    return fail("this machine (" + host.llvm_cpu + ") cannot run code for " + name +
                ", so it cannot be tuned for it here" +
                (target.clock_mhz ? "; sim:" + name + " tunes by the model alone" : ""));
  }
  if (detail::has_tile_feature(target, "amx-tile") && !detail::has_tile_feature(host, "amx-tile")) {
    target.llvm_features += ",-amx-tile";  // everything else of it runs here
  }
  if (detail::has_f16_tiles(target) && !detail::has_f16_tiles(host)) {
    target.llvm_features += ",-amx-fp16";
  }
  const auto adopt = [](auto& field, const auto& own) {
    if (!field) {
      field = own;
    }
  };
  if (!target.caches.l1d_bytes) {  // a level of instructions: the core is this one
    target.llvm_tune = host.llvm_tune;
  }
  // Ways belong to a size.
  const auto adopt_cache = [&](auto& bytes, auto& ways, const auto& own_bytes,
                               const auto& own_ways) {
    adopt(bytes, own_bytes);
    if (bytes == own_bytes) {
      adopt(ways, own_ways);
    }
  };
  CacheSizes& caches = target.caches;
  const CacheSizes& own = host.caches;
  adopt_cache(caches.l1d_bytes, caches.l1d_ways, own.l1d_bytes, own.l1d_ways);
  adopt_cache(caches.l2_bytes, caches.l2_ways, own.l2_bytes, own.l2_ways);
  adopt_cache(caches.l3_bytes, caches.l3_ways, own.l3_bytes, own.l3_ways);
  adopt(caches.l3_sharing_cores, own.l3_sharing_cores);
  // Every core with vectors of 512 bits executes two products of 256 bits per cycle.
  const bool is_narrow = target.vector_bits < host.vector_bits;
  adopt(target.fma_per_cycle, is_narrow ? std::optional<std::int32_t>(2) : host.fma_per_cycle);
  adopt(target.fma_latency, host.fma_latency);
  return target;
}

}  // namespace tensorsmith
