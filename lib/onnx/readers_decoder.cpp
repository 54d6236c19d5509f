// SPDX-License-Identifier: Apache-2.0
// Operators of the domain com.microsoft of which its tools make decoders: attention with keys that
// are there already, turned positions, products with weights of a few bits.
// Shapes of what they read are known (Importer::add_operator).
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "onnx/attention_parts.hpp"
#include "onnx/quantized_parts.hpp"
#include "onnx/readers.hpp"

namespace tensorsmith::onnx {
namespace {

const graph::Shape& shape_of(const NodeSource& source, ValueId x) {
  return source.net().value(x).shape;
}

constexpr std::int64_t most = INT32_MAX;  // sums and products of two of them are numbers, too

/// Whether input `i` is [b, h, t, d] of extents that can be counted with.
bool has_heads(const NodeSource& source, std::size_t i) {
  const graph::Shape& shape = shape_of(source, source.input(i));
  return shape.size() == 4 && shape[2] <= most;
}

/// Whole numbers of `bits` bits of bytes x [..., n], the lowest first: [..., n * 8 / bits]; `rank`
/// is that of x.
ValueId unpacked(NodeSource& source, ValueId x, std::int64_t bits, std::size_t rank) {
  const auto u8 = [&](std::int64_t number) {
    const auto byte = static_cast<std::uint8_t>(number);
    return source.constant(graph::constant_of<std::uint8_t>(DType::u8, {}, {&byte, 1}));
  };
  const ValueId last = source.integer_list({-1});
  std::vector<ValueId> parts;
  for (std::int64_t first = 0; first < 8; first += bits) {
    const ValueId low =
        first == 0 ? x
                   : source.emit("BitShift", {x, u8(first)}, {{"direction", std::string("RIGHT")}});
    parts.push_back(source.emit(
        "Unsqueeze", {source.emit("BitwiseAnd", {low, u8((std::int64_t{1} << bits) - 1)}), last}));
  }
  Ints shape(rank, 0);
  shape.back() = -1;
  return source.emit("Reshape", {joined(source, std::move(parts), -1), source.integer_list(shape)});
}

}  // namespace

// MultiHeadAttention(q, k, v, bias, mask of keys, summand of scores, past keys, past values): heads
// side by side in [b, s, h * d]; keys and values may be [b, h, t, d].
void read_multi_head_attention(NodeSource& source) {
  const std::int64_t heads = source.integer("num_heads", 0);
  const graph::Shape q_shape = shape_of(source, source.input(0));
  if (!source.has_input(1) || !source.has_input(2) || q_shape.size() != 3) {
    source.refuse("packed queries, keys and values are not read");
    return;
  }
  if (source.has_input(8) || source.has_input(9) || source.has_result(3)) {
    source.refuse("lengths of past keys, beams and its result of scores are not read");
    return;
  }
  if (source.has_input(6) != source.has_input(7)) {
    source.refuse("it has past keys without values, or values without keys");
    return;
  }
  if (heads < 1 || q_shape[2] < heads) {
    source.refuse("it has no heads");
    return;
  }
  if (source.has_input(6) && !has_heads(source, 6)) {
    source.refuse("its past keys are not those of heads");
    return;
  }
  std::vector<ValueId> parts;
  std::int64_t begin = 0, num_keys = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    ValueId x = source.input(i);
    const graph::Shape shape = shape_of(source, x);
    if (i > 0 && has_heads(source, i)) {
      num_keys = shape[2];
      parts.push_back(x);
      continue;
    }
    if (shape.size() != 3 || shape[1] > most) {
      source.refuse("packed queries, keys and values are not read");
      return;
    }
    if (source.has_input(3)) {
      x = source.emit("Add", {x, sliced(source, source.input(3), begin, begin + shape[2])});
      begin += shape[2];
    }
    num_keys = shape[1];
    parts.push_back(split_heads(source, x, heads));
  }
  ValueId k = parts[1], v = parts[2];
  if (source.has_input(6)) {
    num_keys += shape_of(source, source.input(6))[2];
    k = joined(source, {source.input(6), k}, 2);
    v = joined(source, {source.input(7), v}, 2);
  }
  const ValueId q = scaled_queries(source, parts[0], q_shape[2] / heads);
  ValueId scores = source.emit("MatMul", {q, transposed(source, k, {0, 1, 3, 2})});
  const double low = source.real("mask_filter_value", -10000);
  if (source.has_input(4)) {
    scores = with_hidden_keys(source, scores, source.input(4), low, q_shape[0], num_keys);
  }
  if (source.integer("unidirectional", 0) != 0) {
    scores = with_hidden(source, scores, causal(source, q, k, source.input(6)), low);
  }
  scores = source.has_input(5) ? source.emit("Add", {scores, source.input(5)}) : scores;
  const ValueId soft = source.emit("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  source.finish_as(0, joined_heads(source, source.emit("MatMul", {soft, v})));
  if (source.has_result(1)) {
    source.finish_as(1, k);
  }
  if (source.has_result(2)) {
    source.finish_as(2, v);
  }
}

// RotaryEmbedding(x, positions, cos, sin): x is [b, s, h * d] or [b, h, s, d]; positions are [b,
// s], or the first one.
void read_rotary_by_position(NodeSource& source) {
  const graph::Shape shape = shape_of(source, source.input(0));
  const graph::Shape positions_shape = shape_of(source, source.input(1));
  const graph::Shape table_shape = shape_of(source, source.input(2));
  const std::int64_t rotated = source.integer("rotary_embedding_dim", 0);
  if ((shape.size() != 3 && shape.size() != 4) || table_shape.size() != 2) {
    source.refuse("its input or its tables are of a form that is not read");
    return;
  }
  if (source.integer("is_packed_batching", 0) != 0 || source.real("scale", 1) != 1) {
    source.refuse("packed batches and scales are not read");
    return;
  }
  const bool is_joined = shape.size() == 3;
  std::int64_t heads = source.integer("num_heads", 0);
  if (is_joined && heads < 1) {
    if (rotated > 0 || table_shape[1] < 1 || table_shape[1] > most) {
      source.refuse("it has no heads");
      return;
    }
    heads = shape[2] / (2 * table_shape[1]);
  }
  ValueId x = source.input(0);
  x = is_joined ? split_heads(source, x, heads) : x;
  ValueId positions = source.input(1);
  if (positions_shape.size() != 2) {
    const ValueId first = source.emit("Reshape", {positions, source.integer_list({1, 1})});
    positions = source.emit("Add", {first, counted(source, is_joined ? shape[1] : shape[2])});
  }
  const auto table = [&](std::size_t i) {
    ValueId rows = source.emit("Gather", {source.input(i), positions});
    rows = rotated > 0 ? sliced(source, rows, 0, rotated / 2) : rows;
    return source.emit("Unsqueeze", {rows, source.integer_list({1})});
  };
  const ValueId turned =
      rotated_pairs(source, x, table(2), table(3), rotated, source.integer("interleaved", 0) != 0);
  source.finish_as(0, is_joined ? joined_heads(source, turned) : turned);
}

// GroupQueryAttention(q, k, v, past keys, past values, last place of each sequence, number of
// places, cos, sin, positions, summand of scores): [b, s, h * d], or all three side by side in q.
// Groups of query heads share a head of keys. Of each sequence, the keys of its own past come
// first, then the new ones, then zeros that nothing sees.
void read_group_query_attention(NodeSource& source) {
  const std::int64_t heads = source.integer("num_heads", 0);
  const std::int64_t kv_heads = source.integer("kv_num_heads", 0);
  const graph::Shape shape = shape_of(source, source.input(0));
  const bool is_packed = !source.has_input(1);
  if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0 || shape.size() != 3 || shape[2] < heads ||
      shape[1] > most || shape[2] > most) {
    source.refuse("it has no heads, or queries of another form");
    return;
  }
  for (std::size_t i = 11; i < source.inputs().size(); ++i) {
    if (source.has_input(i)) {
      source.refuse("sinks and scales of kept keys are not read");
      return;
    }
  }
  if (source.integer("smooth_softmax", 0) > 0 || source.has_result(3) ||
      source.integer("qk_output", 0) != 0) {
    source.refuse("smooth softmax and its result of scores are not read");
    return;
  }
  if (source.has_input(3) != source.has_input(4) || source.has_input(1) != source.has_input(2) ||
      !source.has_input(5) || !source.has_input(6)) {
    source.refuse("keys, values or lengths are absent");
    return;
  }
  if (source.has_input(3) && !has_heads(source, 3)) {
    source.refuse("its past keys are not those of heads");
    return;
  }
  if (source.has_input(3) && !(source.has_result(1) && source.has_result(2))) {
    source.refuse("past keys without results for all keys are not read");
    return;
  }
  const graph::Value& total_value = source.net().value(source.input(6));
  const std::vector<std::int64_t> totals =
      total_value.is_constant ? total_value.constant.integers() : std::vector<std::int64_t>();
  const std::int64_t num_new = shape[1];
  if (totals.size() != 1 || totals[0] < num_new || totals[0] > most) {
    source.refuse("its number of places is no constant that is at least its number of queries");
    return;
  }
  const std::int64_t depth = shape[2] / (is_packed ? heads + 2 * kv_heads : heads);
  ValueId q = source.input(0), k = source.input(1), v = source.input(2);
  if (is_packed) {
    const std::int64_t q_end = heads * depth, k_end = q_end + kv_heads * depth;
    k = sliced(source, q, q_end, k_end);
    v = sliced(source, q, k_end, to_end);
    q = sliced(source, q, 0, q_end);
  }
  q = split_heads(source, q, heads);
  k = split_heads(source, k, kv_heads);
  v = split_heads(source, v, kv_heads);
  // Numbers of past keys and places of the new ones: [b, 1] and [b, s], or of all b at once.
  const bool is_first = totals[0] == num_new;
  const ValueId list =
      is_first ? source.integer_list({0}) : cast(source, source.input(5), DType::i64);
  ValueId num_past = source.emit("Reshape", {list, source.integer_list({-1, 1})});
  if (!is_first) {
    num_past = source.emit("Sub", {num_past, source.integer_list({num_new - 1})});
  }
  const ValueId new_places = counted(source, num_new);
  const ValueId places = source.emit("Add", {num_past, new_places});
  if (source.integer("do_rotary", 0) != 0) {
    if (!source.has_input(7) || !source.has_input(8)) {
      source.refuse("its tables of positions are absent");
      return;
    }
    const graph::Shape table_shape = shape_of(source, source.input(7));
    const std::int64_t half = table_shape.size() == 2 ? table_shape[1] : 0;
    const std::int64_t rotated = half * 2 < depth ? half * 2 : 0;
    ValueId at = source.has_input(9) ? source.input(9) : places;
    if (source.has_input(9) && is_first) {  // of given positions, the first one counts
      const ValueId first =
          sliced(source, source.emit("Reshape", {at, source.integer_list({1, -1})}), 0, 1);
      at = source.emit("Add", {first, new_places});
    }
    const auto table = [&](std::size_t i) {
      return source.emit("Unsqueeze",
                         {source.emit("Gather", {source.input(i), at}), source.integer_list({1})});
    };
    const ValueId cosine = table(7), sine = table(8);
    const bool is_interleaved = source.integer("rotary_interleaved", 0) != 0;
    q = rotated_pairs(source, q, cosine, sine, rotated, is_interleaved);
    k = rotated_pairs(source, k, cosine, sine, rotated, is_interleaved);
  }
  const std::int64_t kept = source.has_input(3) ? shape_of(source, source.input(3))[2] : 0;
  const std::int64_t length = std::max(kept, totals[0]);
  const ValueId at = counted(source, length);
  if (kept > 0 || length > num_new) {
    // Row t is the past's, up to as many as there are, then a new one.
    const ValueId fresh_at = source.emit(
        "Clip",
        {source.emit("Add", {source.emit("Sub", {at, num_past}), source.integer_list({kept})}),
         source.scalar(static_cast<double>(kept), at),
         source.scalar(static_cast<double>(kept + num_new - 1), at)});
    const ValueId row = source.emit("Where", {source.emit("Less", {at, num_past}), at, fresh_at});
    const ValueId end = source.emit("Add", {num_past, source.integer_list({num_new})});
    const ValueId by_row = source.integer_list({-1, 1, length, 1});
    const ValueId is_there = source.emit("Reshape", {source.emit("Less", {at, end}), by_row});
    const ValueId wide =
        source.emit("Expand", {source.emit("Reshape", {row, by_row}),
                               source.integer_list({shape[0], kv_heads, length, depth})});
    const auto all = [&](std::size_t past, ValueId fresh) {
      const ValueId rows = kept == 0 ? fresh : joined(source, {source.input(past), fresh}, 2);
      const ValueId found =
          source.emit("GatherElements", {rows, wide}, {{"axis", std::int64_t{2}}});
      return source.emit("Where", {is_there, found, source.scalar(0, fresh)});
    };
    k = all(3, k);
    v = all(4, v);
  }
  const std::int64_t group = heads / kv_heads;
  const auto by_group = [&](ValueId x, std::int64_t columns) {
    return source.emit("Reshape",
                       {x, source.integer_list({shape[0], kv_heads, group * num_new, columns})});
  };
  const ValueId scaled = by_group(scaled_queries(source, q, depth), depth);
  ValueId scores = source.emit("MatMul", {scaled, transposed(source, k, {0, 1, 3, 2})});
  scores = capped(
      source,
      source.emit("Reshape", {scores, source.integer_list({shape[0], heads, num_new, length})}));
  scores = source.has_input(10) ? source.emit("Add", {scores, source.input(10)}) : scores;
  // [b or 1, 1, s, 1] beside [length].
  const ValueId place = source.emit("Reshape", {places, source.integer_list({-1, 1, num_new, 1})});
  ValueId is_seen = source.emit("LessOrEqual", {at, place});
  if (const std::int64_t window = source.integer("local_window_size", -1); window >= 0) {
    const ValueId first = source.emit("Sub", {place, source.integer_list({window})});
    is_seen = source.emit("And", {is_seen, source.emit("Greater", {at, first})});
  }
  scores = source.emit("Where", {is_seen, scores, source.scalar(-HUGE_VAL, scores)});
  const ValueId soft = source.emit("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const ValueId sums = source.emit("MatMul", {by_group(soft, length), v});
  const ValueId apart =
      source.emit("Reshape", {sums, source.integer_list({shape[0], heads, num_new, depth})});
  source.finish_as(0, joined_heads(source, apart));
  if (source.has_result(1)) {
    source.finish_as(1, k);
  }
  if (source.has_result(2)) {
    source.finish_as(2, v);
  }
}

// MatMulNBits(a, b, scales, zero points, order of columns, bias): b [n, blocks, bytes] holds
// numbers of `bits` bits, which stand for (number - zero point) * scale of their block.
void read_matmul_of_bits(NodeSource& source) {
  const std::int64_t k = source.integer("K", 0), n = source.integer("N", 0);
  const std::int64_t bits = source.integer("bits", 4), block = source.integer("block_size", 0);
  if (bits != 2 && bits != 4 && bits != 8) {
    source.refuse("its weights have " + std::to_string(bits) + " bits, not 2, 4 or 8");
    return;
  }
  if (source.has_input(4)) {
    source.refuse("an order of columns is not read");
    return;
  }
  if (k < 1 || n < 1 || block < 1 || k > most || n > most || block > most ||
      block * bits % 8 != 0) {
    source.refuse("its extents are not positive, or its blocks are no bytes");
    return;
  }
  const std::int64_t num_blocks = (k - 1) / block + 1;
  const auto by_block = [&](ValueId x) {
    return source.emit("Reshape", {x, source.integer_list({n, num_blocks, 1})});
  };
  const ValueId bytes = source.emit(
      "Reshape", {source.input(1), source.integer_list({n, num_blocks, block * bits / 8})});
  const DType type = source.type_of(source.input(0));
  const ValueId numbers = cast(source, unpacked(source, bytes, bits, 3), type);
  ValueId zero = source.scalar(static_cast<double>(std::int64_t{1} << (bits - 1)), numbers);
  if (source.has_input(3)) {
    zero = source.input(3);
    if (source.type_of(zero) == DType::u8) {
      const ValueId rows = source.emit("Reshape", {zero, source.integer_list({n, -1})});
      zero = cast(source, sliced(source, unpacked(source, rows, bits, 2), 0, num_blocks), type);
    }
    zero = by_block(zero);
  }
  const ValueId real =
      source.emit("Mul", {source.emit("Sub", {numbers, zero}), by_block(source.input(2))});
  const ValueId rows =
      sliced(source, source.emit("Reshape", {real, source.integer_list({n, -1})}), 0, k);
  const ValueId y = source.emit("MatMul", {source.input(0), transposed(source, rows, {1, 0})});
  source.finish_as(0, source.has_input(5) ? source.emit("Add", {y, source.input(5)}) : y);
}

}  // namespace tensorsmith::onnx
