// SPDX-License-Identifier: Apache-2.0
// The rows of the tables of methods, each defined in the file of its method.
//
// Private to lib/tune. Own design.
#pragma once

#include <algorithm>

#include "tensorsmith/sketch/choose.hpp"
#include "tensorsmith/tune/methods.hpp"

namespace tensorsmith {

struct PolicyOptions;

SpaceMethod native_space_method();  ///< native_space.cpp
SpaceMethod ansor_space_method();   ///< ansor_space.cpp

PolicyMethod evolution_method();        ///< evolution.cpp
PolicyMethod ansor_evolution_method();  ///< evolution.cpp: the same search, the reference's way

PolicyMethod pruner_method();          ///< pruner.cpp
PolicyMethod pruner_offline_method();  ///< pruner.cpp: with a model that is trained already
PolicyMethod felix_method();           ///< felix.cpp

/// What spaces of CPUs have in common: threads, caches, tiling structure.
SketchOptions cpu_sketch_options(const SpaceContext& context);
/// The same of GPUs, with tensor cores.
SketchOptions gpu_sketch_options_for(const SpaceContext& context);

/// The caller's sketches, else those of the rules.
template <class Rules>
std::vector<State> sketches_of(const SpaceContext& context, const Rules& rules,
                               const SketchOptions& options) {
  return context.options.sketches ? context.options.sketches(context.task.dag, options)
                                  : generate_sketches(context.task.dag, rules, options);
}
/// At most `most` of the latter: the best ones by `rate`.
template <class Rules>
std::vector<State> sketches_of(const SpaceContext& context, const Rules& rules,
                               const SketchOptions& options, std::size_t most,
                               const SketchRating& rate) {
  return context.options.sketches ? context.options.sketches(context.task.dag, options)
                                  : choose_sketches(context.task.dag, rules, options, most, rate);
}

/// By the draft, for sketches that a space of these options completes; sketch_rating.cpp.
SketchRating cpu_sketch_rating(const SpaceContext& context, const SpaceOptions& options);

/// Evolution over the population and the mutators that belong to a space of GPUs.
Owned<SearchPolicy> make_gpu_policy(SearchContext& context, const PolicyOptions& policy);

}  // namespace tensorsmith
