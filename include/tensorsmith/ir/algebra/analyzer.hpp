// SPDX-License-Identifier: Apache-2.0
// Analyzer: simplifies expressions of one pool under what it was told of their variables.
//
// Floor 1. The face of this folder. bind(), enter() and leave() say what holds, simplify() and
// holds() are the reference's defaults.
#pragma once

#include <cstdint>

#include "tensorsmith/ir/algebra/canonical.hpp"

namespace tensorsmith::algebra {

class Analyzer {
 public:
  Analyzer(Pool& pool, Workspace& workspace)
      : facts_(pool, workspace), rewriter_(facts_), canonical_(facts_) {
    facts_.rewriter = &rewriter_;
    facts_.canonical = &canonical_;
  }

  /// `var` runs over [min, min + extent).
  void bind(std::int32_t var, Ref min, Ref extent) { facts_.bind_range(var, min, extent); }
  /// The condition holds until leave().
  Facts::Mark enter(Ref condition) { return facts_.enter(condition); }
  void leave(const Facts::Mark& mark) { facts_.leave(mark); }

  Ref simplify(Ref ref) { return facts_.simplify(ref); }
  /// The same with every step of the reference; what is_settled() is the result of the first.
  Ref simplify_in_full(Ref ref) { return facts_.simplified_in_full(ref); }
  bool is_settled(Ref ref) { return facts_.is_settled(ref); }
  Ref rewrite(Ref ref) { return rewriter_.simplified(ref); }
  bool holds(Ref condition) { return facts_.holds(condition); }
  bool is_at_least(Ref ref, std::int64_t least) { return facts_.is_at_least(ref, least); }
  Bound bound(Ref ref) const { return facts_.bounds(ref); }
  Pool& pool() { return facts_.pool; }

 private:
  Facts facts_;
  Rewriter rewriter_;
  CanonicalSimplifier canonical_;
};

}  // namespace tensorsmith::algebra
