// SPDX-License-Identifier: Apache-2.0
// Stores and accesses of what one thread of a kernel does: instructions, passes over memory, bytes,
// waiting, registers.
//
// Floor 6. Part of gpu_work_reader.hpp. Own design.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/cost/gpu_work_reader.hpp"

namespace tensorsmith::detail {

/// Counts for all warps, and for the one whose path is followed. `copies`: of one execution.
inline void GpuWorkReader::spend(const GpuUse& use, double copies, const Place& here, Path& path) {
  path.use.add(use, copies);
  work_.add(use, copies * here.times * weight_);
}

inline GpuWorkReader::Path GpuWorkReader::walk_store(const Store& store) {
  const Place here = place();
  Path path;
  GpuOperations counts;
  double operands = 0;
  count_operations(program_.pool, store.value, counts);
  const bool is_background = is_background_copy(store);
  is_background_ = is_background;
  const double stretches =
      is_background
          ? larger_of<double>(1, static_cast<double>(program_[store.buffer].shape.front() - 1))
          : 1;
  for (std::size_t i = 0; i < counts.loads.size(); ++i) {
    const Load* load = program_.pool.as<Load>(counts.loads[i]);
    const bool is_branch = !is_background && is_branched(counts.loads[i], counts.conditions[i]);
    operands += access(load->buffer, load->indices, false, here, path, stretches, is_branch);
  }
  for (const ExprId id : counts.of_loops) {
    count_index(id, here, path);
  }
  access(store.buffer, store.indices, true, here, path);
  operands_ = larger_of(operands_, smaller_of(operands, 32.0));
  GpuUse use;
  use.instructions = counts.total();
  use.f32 = counts.f32;
  use.f64 = counts.f64;
  use.integer = counts.integer;
  use.special = counts.special;
  spend(use, iterations(here), here, path);
  path.chain += chain_of(store, counts, here);
  return path;
}

/// Clocks from the first operand to the result. A sum waits for itself in every step; steps that
/// add to different elements do not wait for each other.
inline double GpuWorkReader::chain_of(const Store& store, const GpuOperations& counts,
                                      const Place& here) {
  double steps = 1;
  bool is_sum = false;
  for (const ExprId id : counts.loads) {
    is_sum = is_sum || program_.pool.as<Load>(id)->buffer == store.buffer;
  }
  const GpuIndices target{store.buffer, &store.indices, footprint_.dependences(store.indices)};
  for (std::size_t i = here.first_expanded; is_sum && i < open_.size(); ++i) {
    steps *= footprint_.depends(target, open_[i].var) ? 1 : static_cast<double>(open_[i].extent);
  }
  return counts.total() > 0
             ? steps * delays_.arithmetic + (counts.special > 0 ? delays_.special : 0)
             : 0;
}

/// An array of a thread that is indexed by what is no constant: it lies in memory, lane beside
/// lane.
inline double GpuWorkReader::access_array(BufferId id, const GpuIndices& access, const Place& here,
                                          Path& path, bool is_store) {
  bool is_array = false;
  for (std::size_t i = 0; i < here.first_expanded; ++i) {
    is_array = is_array || (!is_expanded(open_[i].kind) && open_[i].extent > 1 &&
                            footprint_.depends(access, open_[i].var));
  }
  if (is_array) {
    leave_registers(id);
    // In a straight line every element comes once and goes once.
    GpuFootprint::Running running(footprint_, access);
    for (std::size_t i = here.first_expanded; i < open_.size(); ++i) {
      running.run(open_[i]);
    }
    GpuUse use;
    use.instructions = use.memory = 1;
    use.global_passes = larger_of(1.0, bytes_of(program_[id].dtype) / 4.0);
    const double count = running.elements();
    spend(use, count, here, path);
    private_passes_ += count * use.global_passes * here.times * weight_;
    if (!is_store) {
      path.near = path.nearest = larger_of(path.near, delays_.l1);
    }
  }
  return 0;
}

/// Of the loads that the compiler puts together. Those that come to a line for the first time wait
/// for L2, or DRAM; later ones find it in L1 as long as that holds a line for every thread.
inline double GpuWorkReader::load_latency(const GpuIndices& access, const Buffer& buffer,
                                          const Lanes& addresses) {
  const double far = delays_.l2 + (delays_.dram - delays_.l2) * missed_;
  const GpuLoop* loop = nullptr;  // the innermost one that stays a loop
  for (const GpuLoop& open : open_) {
    loop = is_expanded(open.kind) || open.extent < 2 ? loop : &open;
  }
  if (loop == nullptr) {
    return far;
  }
  double together = 0;  // bytes from one turn to the next
  if (footprint_.depends(access, loop->var)) {
    lanes_.set(loop->var, loop->step);
    together = math::fabs(
        static_cast<double>(lanes_.addresses(buffer, *access.indices)[0] - addresses[0]));
    lanes_.set(loop->var, 0);
  }
  const double lines = global_cost(addresses, bytes_of(buffer.dtype), mask_).lines *
                       static_cast<double>(work_.num_warps());
  if (together >= 128 || 128 * lines > gpu_l1_share(gpu_, work_)) {
    return far;
  }
  return delays_.l1 + (far - delays_.l1) * together / 128;
}

/// Different elements that an access comes to while an unrolled loop runs: quotients and remainders
/// of its variable, such as those of fused virtual threads, are the same for several iterations.
inline double GpuWorkReader::num_places(const GpuIndices& access, const GpuLoop& loop) {
  const std::uint64_t bit = footprint_.bit_of(loop.var);
  bool is_divided = false;
  for (const ExprId index : *access.indices) {
    visit_nodes(program_.pool, index, [&](ExprId id) {
      is_divided = is_divided || (is_division(id) && (footprint_.dependences({id}) & bit) != 0);
    });
  }
  if (!is_divided) {
    return static_cast<double>(loop.extent);
  }
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < loop.extent; ++i) {
    lanes_.set(loop.var, i);
    const std::int64_t place = lanes_.addresses(program_[access.buffer], *access.indices)[0];
    if (!has_item(places, place)) {
      places.push_back(place);
    }
  }
  lanes_.set(loop.var, 0);
  return static_cast<double>(places.size());
}

/// Returns the registers that take what is loaded.
/// `stretches` between barriers pass until it is waited for. `is_branch`: the next one begins when
/// it is done.
inline double GpuWorkReader::access(BufferId id, const ExprList& indices, bool is_store,
                                    const Place& here, Path& path, double stretches,
                                    bool is_branch) {
  const Buffer& buffer = program_[id];
  if (buffer.scope == Scope::register_) {
    return 0;
  }
  if (buffer.scope == Scope::warp) {
    return shuffle(buffer, is_store, here, path);
  }
  const GpuIndices access{id, &indices, footprint_.dependences(indices)};
  if (buffer.scope == Scope::local) {
    return access_array(id, access, here, path, is_store);
  }
  for (const ExprId index : indices) {
    count_index(index, here, path);
  }
  // What the warp does once serves all expanded iterations with the same address.
  double count = 1;
  GpuFootprint::Running running(footprint_, access);
  const Lanes addresses = lanes_.addresses(buffer, indices);
  std::int64_t width = bytes_of(buffer.dtype), together = width;  // bytes that lie side by side
  for (std::size_t i = open_.size(); i-- > here.first_expanded;) {
    const GpuLoop& open = open_[i];
    if (!footprint_.depends(access, open.var)) {
      count *= is_store ? static_cast<double>(open.extent) : 1;
      continue;
    }
    count *= is_store ? static_cast<double>(open.extent) : num_places(access, open);
    running.run(open);
    if (open.kind == ForKind::vectorized || buffer.scope == Scope::shared) {
      lanes_.set(open.var, 1);
      const bool goes_on = lanes_.addresses(buffer, indices)[0] - addresses[0] == together;
      lanes_.set(open.var, 0);
      together *= goes_on ? open.extent : 1;
    }
  }
  count = is_store ? count : smaller_of(count, running.elements());  // windows overlap
  for (const std::int64_t wide : {std::int64_t{16}, std::int64_t{8}, std::int64_t{4}}) {
    if (wide > width && together % wide == 0 && are_aligned(addresses, wide, mask_)) {
      count /= static_cast<double>(wide / width);
      width = wide;
      break;
    }
  }
  const double loaded = count * static_cast<double>(larger_of<std::int64_t>(width, 4)) / 4;
  GpuUse use;
  use.instructions = use.memory = 1;
  double latency = 0;
  if (buffer.scope == Scope::shared) {
    use.shared_passes = tensorsmith::shared_passes(addresses, width, mask_);
  } else {
    const GlobalCost cost = global_cost(addresses, width, mask_);
    use.global_passes = larger_of(cost.lines, cost.sectors / 4);
    const double times = here.times * weight_;
    const double asked = 32 * cost.sectors * count * times * static_cast<double>(work_.num_warps());
    const double kept = is_store ? asked : smaller_of(asked, after_l1(access, here) * weight_);
    work_.traffic.push_back(
        {id, is_store, kept, 0, 0, is_store ? 1 : turns(access), is_background_});
    accesses_.push_back(access);
    latency = is_store ? 0 : load_latency(access, buffer, addresses) / stretches;
  }
  spend(use, count, here, path);
  if (buffer.scope == Scope::shared) {
    path.near = path.nearest = larger_of(path.near, is_store ? 0 : delays_.shared);
  } else if (!is_store) {
    // The compiler has so many loads under way as there are registers for what they bring.
    constexpr double most_loaded = 64;
    const double waits = latency * (is_branch ? count : math::ceil(loaded / most_loaded));
    path.latency = larger_of(path.latency, waits);
    path.longest = larger_of(path.longest, latency);
  }
  return loaded;
}

/// Bytes that a block loads through L1: what fits there is loaded once, and what is the same for
/// iterations that are unrolled too.
inline double GpuWorkReader::after_l1(const GpuIndices& access, const Place& here) {
  const double share = gpu_l1_share(gpu_, work_);
  GpuFootprint::Running running = footprint_.block(access);
  double inside = running.bytes(), loaded = inside, kept = running.line_bytes();
  for (std::size_t i = open_.size(); i-- > 0;) {
    double times = static_cast<double>(open_[i].extent);
    if (!footprint_.depends(access, open_[i].var)) {
      loaded *= kept <= share || i >= here.first_expanded ? 1 : times;
      continue;
    }
    // One that goes over several tiles begins anew with each of them.
    GpuLoop tile = open_[i];
    tile.extent = footprint_.period(access, open_[i]);
    const double tiles = times / static_cast<double>(tile.extent);
    times = static_cast<double>(tile.extent);
    running.run(tile);
    const double outside = running.bytes();
    loaded = kept <= share ? larger_of(loaded, outside * (loaded / inside)) : loaded * times;
    loaded *= tiles;
    inside = outside;
    kept = running.line_bytes();
  }
  return loaded;
}

inline double GpuWorkReader::turns(const GpuIndices& access) const {
  double product = 1;
  for (const GpuLoop& loop : open_) {
    product *=
        static_cast<double>(loop.extent) / static_cast<double>(footprint_.period(access, loop));
  }
  return product;
}

inline void GpuWorkReader::leave_registers(BufferId id) {
  const bool is_new = !has_item(arrays_, id);
  kept_bytes_ -= is_new ? static_cast<double>(program_[id].num_bytes()) : 0;
  arrays_.push_back(id);
}

/// What cannot be kept in registers goes to memory and comes back for every use; operands are
/// loaded later instead.
inline void GpuWorkReader::fit_registers() {
  const double kept = base_registers + larger_of(0.0, kept_bytes_) / 4;
  const double least = kept + smaller_of(operands_, 8.0), wanted = kept + operands_;
  const std::int64_t of_all = gpu_.registers_per_sm / (32 * work_.num_warps()) / 8 * 8;
  const auto most =
      static_cast<double>(smaller_of<std::int64_t>(gpu_.max_registers_per_thread, of_all));
  work_.registers = static_cast<std::int32_t>(smaller_of(wanted, most));
  work_.spilled = least > most ? (least - most) / least : 0;
  GpuUse moves;
  moves.instructions = moves.memory = moves.global_passes =
      2 * work_.spilled * (work_.f32 + work_.f64 + work_.integer + accumulations_);
  work_.add(moves);
  private_passes_ += moves.global_passes;
  spilled_bytes_ = 4 * larger_of(0.0, least - most);
  work_.path_clocks += gpu_unit_clocks(gpu_, moves, static_cast<double>(work_.num_warps())).most();
}

/// What threads keep in memory for themselves, beside each other: L1 holds as much of it as there
/// is room, L2 gives the rest.
inline void GpuWorkReader::place_private() {
  double of_thread = spilled_bytes_;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    bool is_new = true;
    for (std::size_t j = 0; j < i; ++j) {
      is_new = is_new && arrays_[j] != arrays_[i];
    }
    of_thread += is_new ? static_cast<double>(program_[arrays_[i]].num_bytes()) : 0;
  }
  const auto blocks = static_cast<double>(larger_of<std::int64_t>(1, work_.blocks_per_sm));
  work_.private_bytes = of_thread * static_cast<double>(work_.num_threads) * blocks;
  const double room = blocks * gpu_l1_share(gpu_, work_);
  const double missed = larger_of(0.0, 1 - room / larger_of(work_.private_bytes, 1.0));
  work_.private_l2_bytes = 128 * private_passes_ * static_cast<double>(work_.num_warps()) * missed;
}

}  // namespace tensorsmith::detail
