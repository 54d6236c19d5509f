// SPDX-License-Identifier: Apache-2.0
// What readers of attention have in common.
//
// Private to lib/onnx; defined in readers_attention.cpp. b is the batch, h the heads, s and t the
// numbers of queries and of keys, d the extent of a head.
#pragma once

#include <cstdint>
#include <vector>

#include "onnx/node_source.hpp"

namespace tensorsmith::onnx {

using Ints = std::vector<std::int64_t>;

inline constexpr std::int64_t to_end = INT64_MAX;

/// Extents [begin, end) of a value, as a list.
ValueId extents(NodeSource& source, ValueId x, std::int64_t begin, std::int64_t end);
ValueId joined(NodeSource& source, std::vector<ValueId> parts, std::int64_t axis = 0);
ValueId transposed(NodeSource& source, ValueId x, Ints perm);
/// [b, s, h * d] --> [b, h, s, d].
ValueId split_heads(NodeSource& source, ValueId x, std::int64_t heads);
/// [b, h, s, d] --> [b, s, h * d].
ValueId joined_heads(NodeSource& source, ValueId x);
/// Elements of the last axis.
ValueId sliced(NodeSource& source, ValueId x, std::int64_t begin, std::int64_t end,
               std::int64_t step = 1);
/// q * scale, or q / sqrt(depth) where the file gives no scale or 0.
ValueId scaled_queries(NodeSource& source, ValueId q, std::int64_t depth);
/// cap * tanh(scores / cap), if the file has a "softcap".
ValueId capped(NodeSource& source, ValueId scores);
/// 0, 1, ... n - 1.
ValueId counted(NodeSource& source, std::int64_t n);

/// Whether key j comes no later than query i, with `past` keys before both: [s, t].
ValueId causal(NodeSource& source, ValueId q, ValueId k, ValueId past);

/// scores [b, h, s, t], with `low` added where `mask` hides a key. Its shape is known: lengths [b],
/// a number by key [b, t] or by query and key [b, s, t], above 0 where the key is seen. Refuses
/// others.
ValueId with_hidden_keys(NodeSource& source, ValueId scores, ValueId mask, double low,
                         std::int64_t b, std::int64_t t);
/// So where not `is_seen`.
ValueId with_hidden(NodeSource& source, ValueId scores, ValueId is_seen, double low);

/// Pairs (x, y) of the last axis of `a` [b, h, s, d] become (x cos - y sin, x sin + y cos): halves
/// of its first `rotated` elements (0: of all), or neighbours. cos, sin: [b, 1, s, rotated / 2].
ValueId rotated_pairs(NodeSource& source, ValueId a, ValueId cosine, ValueId sine,
                      std::int64_t rotated, bool is_interleaved);

}  // namespace tensorsmith::onnx
