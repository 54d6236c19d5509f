// SPDX-License-Identifier: Apache-2.0
// template_of: a sketch of a search space as a template.
//
// Floor 7. Own design. Open lengths of splits become variables; what completes a sketch (where
// stages are computed, which loops are parallel, vectors or threads, remarks for lowering, which
// intrinsic computes a stage) becomes decisions, in the order in which the populations decide them
// (population/sample.hpp); loops of packed copies are derived. Not here: relations between the
// variables of a program for GPUs (gpu_limits.hpp).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/search/decisions/copies.hpp"
#include "tensorsmith/search/decisions/hints.hpp"
#include "tensorsmith/search/decisions/intrinsic.hpp"
#include "tensorsmith/search/decisions/loops.hpp"
#include "tensorsmith/search/decisions/parallel_loops.hpp"
#include "tensorsmith/search/decisions/place.hpp"
#include "tensorsmith/search/decisions/row_lengths.hpp"
#include "tensorsmith/search/decisions/threads.hpp"
#include "tensorsmith/search/drawing.hpp"
#include "tensorsmith/search/gpu_limits.hpp"
#include "tensorsmith/search/search_space.hpp"
#include "tensorsmith/space/template_builder.hpp"

namespace tensorsmith {
namespace detail {

template <class Drawing>
class SketchTemplate {
 public:
  SketchTemplate(const SearchSpace& space, std::uint32_t index)
      : space_(space), index_(index), sketch_(space.sketches()[index]), builder_(space.initial()) {
    packs_ = PackedCopies(sketch_.steps()).stages();
  }

  std::optional<Template> for_cpu() {
    if (!add_steps()) {
      return std::nullopt;
    }
    const SpaceOptions& options = space_.options();
    if constexpr (Drawing::infers_bounds_before_places) {
      builder_.infer_bounds();
    }
    add_places();
    builder_.infer_bounds();
    for_each_stage([&](std::int32_t stage) {
      add(stage, ".parallel", VariableRole::annotation,
          make_shared_of<const ParallelDecision>(
              stage,
              ParallelCores{options.hardware.num_cores, Drawing::leaves_innermost_to_vectors},
              packs_));
    });
    add_unrolls();
    for_each_stage([&](std::int32_t stage) {
      add(stage, ".vector", VariableRole::annotation,
          make_shared_of<const VectorDecision>(stage, options.max_vectorize_size));
    });
    add_hints();
    for (std::int32_t copy : packs_) {
      if (options.keeps_pack_rows) {
        add(copy, ".rows", VariableRole::layout, make_shared_of<const PackRows>(copy, options));
      }
    }
    add_intrinsics();
    if (!packs_.empty() || options.lay_out_results) {
      builder_.derive(make_shared_of<const FitCopies>(options));
    }
    return builder_.finish(options.reuse);
  }

  std::optional<Template> for_gpu() {
    const AccessAnalysis& analysis = space_.analysis(index_);
    std::vector<std::int32_t> roots;
    const SpaceOptions& options = space_.options();
    if (!find_tiled_roots(sketch_, analysis, roots, !options.draws_threads) || !add_steps()) {
      return std::nullopt;
    }
    builder_.infer_bounds();
    for (auto stage = static_cast<std::int32_t>(sketch_.num_stages()) - 1; stage >= 0; --stage) {
      if (const auto kind = bind_kind(sketch_, stage, roots, options)) {
        add(stage, ".threads", VariableRole::annotation,
            make_shared_of<const BindDecision>(stage, *kind, options));
      }
    }
    GpuLimitsOfTiles limits(builder_.space(), sketch_, splits_, options);
    for (const auto& [stage, place] : sketch_.attach_map().stage_to_iterator) {
      const bool is_tiled_here = has_item(roots, place.stage) && needs_tiling(analysis, stage) &&
                                 bind_kind(sketch_, place.stage, roots, options) == BindKind::tiles;
      if (is_tiled_here && Drawing::keeps_fixed_lengths) {
        limits.add(stage);
      }
    }
    add_unrolls();
    if (!options.fetch_stages.empty()) {
      add_copies();
    }
    if (options.gpu) {
      builder_.decide("stream_k", VariableRole::structure, make_shared_of<const StreamK>(options));
    }
    return builder_.finish(options.reuse);
  }

 private:
  std::string name_of_stage(std::int32_t stage) const {
    return sketch_.operation(static_cast<std::size_t>(stage)).name;
  }
  /// `name`, or with a number behind it if there is such a variable.
  std::string unique(std::string name) {
    while (builder_.space().find(name).valid() || builder_.space().find(name + ".1").valid()) {
      name += "'";
    }
    return name;
  }
  void add(std::int32_t stage, const char* what, VariableRole role,
           Shared<const Decision> decision) {
    builder_.decide(unique(name_of_stage(stage) + what), role, std::move(decision));
  }
  /// Those that are computed and whose loops the search decides.
  template <class Visit>
  void for_each_stage(const Visit& visit) const {
    for (std::size_t id = 0; id < sketch_.num_stages(); ++id) {
      if (!sketch_.stage(id).is_placeholder && !has_item(packs_, static_cast<std::int32_t>(id))) {
        visit(static_cast<std::int32_t>(id));
      }
    }
  }

  /// The stage of today that was `stage` in front of step `at`.
  std::int32_t stage_today(std::size_t at, std::int32_t stage) const {
    for (; at < sketch_.steps().size(); ++at) {
      stage = stage_after(sketch_.steps()[at], stage);
    }
    return stage;
  }

  /// False if the extent of a split is not known.
  bool add_steps() {
    State state = space_.initial();
    const AccessAnalysis& analysis = space_.analysis(index_);
    PackedCopies packs;
    std::vector<std::int32_t> items;  // by step
    for (std::size_t at = 0; at < sketch_.steps().size(); ++at) {
      Step step = sketch_.steps()[at];
      const bool is_decided = packs.is_about_loops(step);
      packs.follow(step);
      items.push_back(-1);
      if (is_decided) {
        continue;
      }
      move_sources(step, items);
      std::vector<Hole> holes;
      if (SplitStep* split = std::get_if<SplitStep>(&step)) {
        if (!open_lengths(at, *split, holes)) {
          return false;
        }
      }
      const ComputeAtStep* place = std::get_if<ComputeAtStep>(&step);
      if (place != nullptr && has_free_location(sketch_, analysis, stage_today(at, place->stage))) {
        builder_.step(step);
        items.back() =
            builder_.replace_last(unique(name_of_stage(stage_today(at, place->stage)) + ".place"),
                                  VariableRole::place, make_shared_of<const SketchPlace>(*place));
        continue;
      }
      items.back() = static_cast<std::int32_t>(builder_.step(std::move(step), std::move(holes)));
    }
    return true;
  }

  static void move_sources(Step& step, const std::vector<std::int32_t>& items) {
    const auto move = [&](std::int32_t& source) {
      source = items[static_cast<std::size_t>(source)];
    };
    if (FollowSplitStep* follow = std::get_if<FollowSplitStep>(&step)) {
      move(follow->source_step);
    } else if (FollowFusedSplitStep* fused = std::get_if<FollowFusedSplitStep>(&step)) {
      for (std::int32_t& source : fused->source_steps) {
        move(source);
      }
    }
  }

  /// Variables for the lengths of step `at`, if they are free; false if there can be none.
  bool open_lengths(std::size_t at, SplitStep& split, std::vector<Hole>& holes) {
    const bool is_open = has_item(split.lengths, unknown_length);
    if (!is_open && Drawing::keeps_fixed_lengths && !space_.splits().is_open(index_, at)) {
      return true;
    }
    if (split.extent < 1) {
      return !is_open;
    }
    const std::int32_t stage = stage_today(at, split.stage);
    const std::string iterator = name_of_split(at, split);
    const std::string name = unique(name_of_stage(stage) + "." + iterator);
    const std::size_t count = split.lengths.size();
    const HardwareParams& hardware = space_.options().hardware;
    std::vector<VariableId> lengths;
    if (space_.splits().is_of_rows(index_, at)) {
      lengths = add_row_lengths(builder_.space(), name, split, hardware,
                                most_lanes(space_.initial().dag()));
    } else if (is_open) {
      lengths = builder_.space().add_chain(
          name,
          SketchSplits::rounded_extents(split.extent,
                                        space_.splits().rounding_of(index_, at, split.extent)),
          count, space_.splits().max_innermost(index_, at));
    } else {  // the sketch proposes them; the reference's mutations change what it fixes
      for (std::size_t i = 0; i < count; ++i) {
        std::vector<std::int32_t> values = {static_cast<std::int32_t>(split.lengths[i])};
        if (Drawing::keeps_fixed_lengths && count == 1) {
          const auto most = hardware.max_threads_per_block;
          const Domain divisors = Domain::divisors_of(split.extent, most);
          values.insert(values.end(), divisors.values().begin(), divisors.values().end());
        }
        lengths.push_back(builder_.space().add(name + "." + std::to_string(i + 1),
                                               VariableRole::tile_length,
                                               Domain::list(std::move(values))));
      }
    }
    holes = builder_.holes_of(lengths);
    splits_.push_back({stage, iterator, lengths});
    return true;
  }

  /// The iterator that step `at` splits.
  std::string name_of_split(std::size_t at, const SplitStep& split) const {
    State state = space_.initial();
    for (std::size_t i = 0; i < at; ++i) {
      if (!try_step(state, sketch_.steps()[i])) {
        break;
      }
    }
    const auto id = static_cast<std::size_t>(split.stage);
    const auto iterator = static_cast<std::size_t>(split.iterator);
    return id < state.num_stages() && iterator < state.stage(id).iterators.size()
               ? state.stage(id).iterators[iterator].name
               : std::to_string(split.iterator);
  }

  void add_places() {
    if (!space_.options().change_compute_location) {
      return;
    }
    const AccessAnalysis& analysis = space_.analysis(index_);
    for (auto stage = static_cast<std::int32_t>(sketch_.num_stages()) - 1; stage >= 0; --stage) {
      if (has_free_location(sketch_, analysis, stage) && !space_.places(index_, stage)) {
        add(stage, ".place", VariableRole::place,
            Drawing::infers_bounds_before_places
                ? make_shared_of<const PlaceDecision>(stage)
                : make_shared_of<const PlaceDecision>(stage, sketch_));
      }
    }
  }

  void add_unrolls() {
    const SpaceOptions& options = space_.options();
    for_each_stage([&](std::int32_t stage) {
      if (!sketch_.operation(static_cast<std::size_t>(stage)).attrs.always_unroll_inner.empty()) {
        add(stage, ".unrolled", VariableRole::annotation,
            make_shared_of<const UnrolledLoops>(stage));
      }
      if (has_non_spatial_iterator(sketch_, stage) && !options.auto_unroll_max_steps.empty()) {
        add(stage, ".auto_unroll", VariableRole::hint,
            make_shared_of<const AutoUnroll>(stage, options.auto_unroll_max_steps));
      }
    });
  }

  void add_hints() {
    const SpaceOptions& options = space_.options();
    for_each_stage([&](std::int32_t stage) {
      if (!options.row_blocks.empty() && has_non_spatial_iterator(sketch_, stage)) {
        add(stage, ".row_block", VariableRole::hint,
            make_shared_of<const RowBlock>(stage, options.row_blocks));
      }
    });
    if (!options.prefetch_lines.empty() || options.min_streamed_bytes > 0) {
      builder_.decide("memory", VariableRole::hint,
                      make_shared_of<const MemoryHint>(options, packs_));
    }
    for_each_stage([&](std::int32_t stage) {
      if (!options.reduction_unrolls.empty() && has_non_spatial_iterator(sketch_, stage)) {
        add(stage, ".reduction_unroll", VariableRole::hint,
            make_shared_of<const ReductionUnroll>(stage, options.reduction_unrolls));
      }
    });
  }

  void add_intrinsics() {
    const SpaceOptions& options = space_.options();
    for_each_stage([&](std::int32_t stage) {
      if (!options.intrinsics.empty() && has_non_spatial_iterator(sketch_, stage)) {
        add(stage, ".intrinsic", VariableRole::structure,
            make_shared_of<const IntrinsicDecision>(stage, options.intrinsics));
      }
    });
  }

  void add_copies() {
    const SpaceOptions& options = space_.options();
    std::vector<std::int32_t> readers;
    for (std::int32_t copy : shared_copies(sketch_)) {
      const std::int32_t reader = sketch_.attach_map().stage_to_iterator.at(copy).stage;
      if (!has_item(readers, reader)) {
        readers.push_back(reader);
      }
      add(copy, ".layout", VariableRole::layout, make_shared_of<const CopyLayout>(copy));
    }
    for (std::int32_t reader : readers) {
      add(reader, ".fetch_ahead", VariableRole::hint,
          make_shared_of<const FetchAhead>(reader, options));
      if (!options.load_sets.empty()) {
        add(reader, ".load_ahead", VariableRole::hint,
            make_shared_of<const LoadAhead>(reader, options.load_sets));
      }
    }
  }

  const SearchSpace& space_;
  std::uint32_t index_;
  const State& sketch_;
  std::vector<std::int32_t> packs_;  ///< stages of packed copies
  std::vector<SplitVariables> splits_;
  TemplateBuilder builder_;
};

}  // namespace detail

/// Sketch number `index` of a space for CPUs; nothing if its lengths cannot be chosen.
template <class Drawing = NativeDrawing>
std::optional<Template> cpu_template_of(const SearchSpace& space, std::uint32_t index) {
  return detail::SketchTemplate<Drawing>(space, index).for_cpu();
}

/// The same of a space for GPUs.
template <class Drawing = NativeDrawing>
std::optional<Template> gpu_template_of(const SearchSpace& space, std::uint32_t index) {
  return detail::SketchTemplate<Drawing>(space, index).for_gpu();
}

}  // namespace tensorsmith
