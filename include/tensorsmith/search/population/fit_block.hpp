// SPDX-License-Identifier: Apache-2.0
// FitBlock: tiles and bindings of a GPU program that a block and its threads can hold.
//
// Floor 7. Own design. Most tilings that the reference draws exceed a limit of the device, which it
// finds out by compiling them; here they are drawn again. What is looked at follows from the state
// alone: threads of a block, bytes of its shared copies, elements that a thread keeps. Not here:
// the reference's population, which stays as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/search/population/fill_tile_size.hpp"
#include "tensorsmith/search/population/thread_bind.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

namespace detail {

/// What the stages that are computed inside of one root stage ask of a block.
struct BlockNeeds {
  std::int64_t threads = 1, shared_bytes = 0, private_bytes = 0;
  std::int64_t buffered_bytes = 0;  ///< shared ones, every copy as often as it has buffers

  /// Of a thread, the least.
  std::int64_t registers() const {
    constexpr std::int64_t least_registers = 24;  // addresses and counters
    return least_registers + private_bytes / 4;
  }
};

inline std::int64_t element_bytes(const State& state, std::size_t stage) {
  const Operation& operation = state.operation(stage);
  return operation.bodies.empty() ? 4
                                  : bytes_of(state.dag().pool().dtype(operation.bodies.front()));
}

/// The stage at the root that `stage` is computed in; itself if it is there.
inline std::int32_t root_of(const State& state, std::int32_t stage) {
  while (state.stage(static_cast<std::size_t>(stage)).compute_at == ComputeAt::iterator) {
    stage = state.attach_map().stage_to_iterator.at(stage).stage;
  }
  return stage;
}

/// By stage; what no block computes on its own has none.
inline std::vector<BlockNeeds> block_needs(const State& state) {
  std::vector<BlockNeeds> needs(state.num_stages());
  std::vector<std::int64_t> virtual_threads(state.num_stages(), 1);
  for (std::size_t id = 0; id < state.num_stages(); ++id) {
    for (const auto& it : state.stage(id).iterators) {
      virtual_threads[id] *= it.annotation == Annotation::vthread ? it.extent.value_or(1) : 1;
    }
  }
  for (std::size_t id = 0; id < state.num_stages(); ++id) {
    const auto& stage = state.stage(id);
    if (stage.is_placeholder || stage.compute_at == ComputeAt::inlined) {
      continue;
    }
    const std::int32_t root = root_of(state, static_cast<std::int32_t>(id));
    std::int64_t threads = 1, elements = 1;
    for (const auto& it : stage.iterators) {
      const std::int64_t extent = it.extent.value_or(1);
      const bool is_thread = it.annotation == Annotation::thread_x ||
                             it.annotation == Annotation::thread_y ||
                             it.annotation == Annotation::thread_z;
      threads *= is_thread ? extent : 1;
      elements *= it.kind == IteratorKind::reduction ? 1 : extent;
    }
    BlockNeeds& block = needs[static_cast<std::size_t>(root)];
    block.threads = larger_of(block.threads, threads);
    if (stage.compute_at == ComputeAt::root) {
      continue;
    }
    const std::int64_t bytes = elements * element_bytes(state, id);
    if (stage.is_shared_copy() || threads > 1) {
      const std::int32_t reader =
          state.attach_map().stage_to_iterator.at(static_cast<std::int32_t>(id)).stage;
      const std::int64_t buffers =
          state.stage(static_cast<std::size_t>(reader)).hints.get<hints::FetchAhead>().stages;
      block.shared_bytes += bytes;
      block.buffered_bytes += bytes * larger_of<std::int64_t>(buffers, 1);
    } else {
      block.private_bytes += bytes * virtual_threads[static_cast<std::size_t>(root)];
    }
  }
  return needs;
}

}  // namespace detail

/// Whether the blocks of a complete GPU program keep the limits, as far as its state shows. What it
/// refuses can not be run, or spills.
/// `most_buffered_bytes`: of shared memory where copies have several buffers; 0: what one has.
inline bool fits_block(const State& state, const HardwareParams& hardware,
                       std::int64_t most_buffered_bytes = 0) {
  constexpr std::int64_t registers_of_block = 65536, registers_of_thread = 255;  // CUDA guide
  return all_items(detail::block_needs(state), [&](const detail::BlockNeeds& block) {
    const std::int64_t registers = block.registers();
    return block.threads <= hardware.max_threads_per_block &&
           block.shared_bytes <= hardware.max_shared_memory_per_block &&
           block.buffered_bytes <=
               larger_of<std::int64_t>(hardware.max_shared_memory_per_block, most_buffered_bytes) &&
           registers <= registers_of_thread && registers * block.threads <= registers_of_block;
  });
}

inline bool fits_block(const State& state, const SpaceOptions& options) {
  return fits_block(state, options.hardware, options.max_buffered_bytes);
}

/// Terms that a block adds up per byte that it fetches into shared memory, of the stage where that
/// is least; 0 where nothing is fetched. What blocks ask of L2 and DRAM goes down with it.
inline double terms_per_byte(const State& state) {
  double least = 0;
  for (std::size_t reader = 0; reader < state.num_stages(); ++reader) {
    double bytes = 0;
    std::size_t place = 0;
    for (std::size_t id = 0; id < state.num_stages(); ++id) {
      const auto found = state.attach_map().stage_to_iterator.find(static_cast<std::int32_t>(id));
      if (state.stage(id).compute_at != ComputeAt::iterator ||
          found == state.attach_map().stage_to_iterator.end() ||
          found->second.stage != static_cast<std::int32_t>(reader) ||
          !state.stage(id).is_shared_copy()) {
        continue;
      }
      double elements = 1;
      for (const auto& it : state.stage(id).iterators) {
        elements *= static_cast<double>(it.extent.value_or(1));
      }
      bytes += elements * static_cast<double>(detail::element_bytes(state, id));
      place = static_cast<std::size_t>(found->second.iterator);
    }
    if (bytes == 0) {
      continue;
    }
    const auto root =
        static_cast<std::size_t>(detail::root_of(state, static_cast<std::int32_t>(reader)));
    double terms = 1;  // of all threads, in one iteration of the loop that fetches
    for (const auto& it : state.stage(root).iterators) {
      const bool is_shared =
          it.annotation == Annotation::vthread || it.annotation == Annotation::thread_x ||
          it.annotation == Annotation::thread_y || it.annotation == Annotation::thread_z;
      terms *= is_shared && root != reader ? static_cast<double>(it.extent.value_or(1)) : 1;
    }
    const auto& iterators = state.stage(reader).iterators;
    for (std::size_t i = 0; i < iterators.size(); ++i) {
      const bool is_inside = i > place || iterators[i].kind != IteratorKind::reduction;
      const bool is_block = iterators[i].annotation == Annotation::block_x;
      terms *= is_inside && !is_block ? static_cast<double>(iterators[i].extent.value_or(1)) : 1;
    }
    least = least == 0 ? terms / bytes : smaller_of(least, terms / bytes);
  }
  return least;
}

/// Lengths of sketches whose tiles are drawn within the limits of a block (tile_templates.hpp).
struct TilesTogether {
  std::vector<char> is_of;  ///< by sketch
  /// Of every split of such a sketch, in order, from a seed; nothing if no lengths were found.
  Callback<std::optional<std::vector<LengthList>>(std::uint32_t sketch, std::uint32_t seed)> draw;
};

/// FillTileSize and ThreadBind, drawn again while the block does not fit. Of two tilings that fit,
/// the one that fetches less for what it computes: most tilings of a product fetch far too much.
struct FitBlock {
  static constexpr std::string_view name() { return "fit_block"; }
  static constexpr int max_draws = 96;  // without templates about one in 25 fits, of a product

  Shared<const TilesTogether> together = {};

  template <class Rng>
  bool apply(const SearchSpace& space, Candidate& candidate, Rng& rng) const {
    std::optional<Candidate> first = draw_fitting(space, candidate, rng);
    if (!first) {
      return false;
    }
    const double terms = terms_per_byte(first->state);
    std::optional<Candidate> second =
        terms > 0 ? draw_fitting(space, candidate, rng) : std::nullopt;
    candidate = std::move(second && terms_per_byte(second->state) > terms ? *second : *first);
    return true;
  }

 private:
  template <class Rng>
  std::optional<Candidate> draw_fitting(const SearchSpace& space, const Candidate& candidate,
                                        Rng& rng) const {
    for (int draw = 0; draw < max_draws; ++draw) {
      Candidate drawn = candidate;
      if (fill(space, drawn, rng) && ThreadBind{}.apply(space, drawn, rng) &&
          space.refresh(drawn) && fits_block(drawn.state, space.options())) {
        return drawn;
      }
    }
    return std::nullopt;
  }

  template <class Rng>
  bool fill(const SearchSpace& space, Candidate& candidate, Rng& rng) const {
    if (!together || !together->is_of[candidate.sketch]) {
      return FillTileSize{}.apply(space, candidate, rng);
    }
    const auto lengths = together->draw(candidate.sketch, rng.next_below(1U << 31));
    if (!lengths) {
      return false;
    }
    std::vector<Step> steps = candidate.state.steps();
    std::size_t next = 0;
    for (Step& step : steps) {
      if (SplitStep* const split = std::get_if<SplitStep>(&step)) {
        split->lengths = (*lengths)[next++];
      }
    }
    std::optional<Candidate> filled = space.build(steps, candidate.sketch);
    if (!filled) {
      return false;
    }
    candidate = std::move(*filled);
    return true;
  }
};

}  // namespace tensorsmith
