// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "onnx/attention_parts.hpp"
#include "onnx/quantized_parts.hpp"
#include "onnx/readers.hpp"

namespace tensorsmith::onnx {

ValueId extents(NodeSource& source, ValueId x, std::int64_t begin, std::int64_t end) {
  return source.emit("Shape", {x}, {{"start", begin}, {"end", end}});
}
ValueId joined(NodeSource& source, std::vector<ValueId> parts, std::int64_t axis) {
  return source.emit("Concat", std::move(parts), {{"axis", axis}});
}
ValueId transposed(NodeSource& source, ValueId x, Ints perm) {
  return source.emit("Transpose", {x}, {{"perm", std::move(perm)}});
}
ValueId split_heads(NodeSource& source, ValueId x, std::int64_t heads) {
  const ValueId apart = source.emit("Reshape", {x, source.integer_list({0, 0, heads, -1})});
  return transposed(source, apart, {0, 2, 1, 3});
}
ValueId joined_heads(NodeSource& source, ValueId x) {
  const ValueId apart = transposed(source, x, {0, 2, 1, 3});
  return source.emit("Reshape", {apart, source.integer_list({0, 0, -1})});
}
ValueId sliced(NodeSource& source, ValueId x, std::int64_t begin, std::int64_t end,
               std::int64_t step) {
  return source.emit("Slice", {x, source.integer_list({begin}), source.integer_list({end}),
                               source.integer_list({-1}), source.integer_list({step})});
}
ValueId scaled_queries(NodeSource& source, ValueId q, std::int64_t depth) {
  const double given = source.real("scale", 0);
  const double scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(depth));
  return source.emit("Mul", {q, source.scalar(scale, q)});
}
ValueId capped(NodeSource& source, ValueId scores) {
  const double cap = source.real("softcap", 0);
  if (cap == 0) {
    return scores;
  }
  const ValueId limit = source.scalar(cap, scores);
  const ValueId tanh = source.emit("Tanh", {source.emit("Div", {scores, limit})});
  return source.emit("Mul", {tanh, limit});
}
ValueId counted(NodeSource& source, std::int64_t n) {
  const auto number = [&](std::int64_t value) {
    return source.constant(graph::constant_of<std::int64_t>(DType::i64, {}, {&value, 1}));
  };
  return source.emit("Range", {number(0), number(n), number(1)});
}

ValueId causal(NodeSource& source, ValueId q, ValueId k, ValueId past) {
  const ValueId shape = joined(source, {extents(source, q, 2, 3), extents(source, k, 2, 3)});
  const float one = 1;
  const ValueId ones =
      source.emit("ConstantOfShape", {shape},
                  {{"value", graph::constant_of<float>(DType::f32, {1}, {&one, 1})}});
  std::vector<ValueId> inputs = {ones};
  if (past.valid()) {
    inputs.push_back(
        source.emit("Squeeze", {extents(source, past, 2, 3), source.integer_list({0})}));
  }
  const ValueId lower = source.emit("Trilu", std::move(inputs), {{"upper", std::int64_t{0}}});
  return source.emit("Greater", {lower, source.scalar(0.5, lower)});
}

ValueId with_hidden(NodeSource& source, ValueId scores, ValueId is_seen, double low) {
  const ValueId none = source.scalar(0, scores);
  return source.emit("Add",
                     {scores, source.emit("Where", {is_seen, none, source.scalar(low, scores)})});
}
ValueId with_hidden_keys(NodeSource& source, ValueId scores, ValueId mask, double low,
                         std::int64_t b, std::int64_t t) {
  const graph::Shape shape = source.net().value(mask).shape;
  const ValueId number = cast(source, mask, DType::i64);
  const ValueId zero = source.scalar(0, number);
  ValueId is_seen;
  if (shape.size() == 1 && shape[0] == b) {
    const ValueId length = source.emit("Reshape", {number, source.integer_list({-1, 1, 1, 1})});
    is_seen = source.emit("Less", {counted(source, t), length});
  } else if (shape.size() == 2) {
    const ValueId by_key = source.emit("Reshape", {number, source.integer_list({0, 1, 1, -1})});
    is_seen = source.emit("Greater", {by_key, zero});
  } else if (shape.size() == 3) {
    const ValueId by_query = source.emit("Unsqueeze", {number, source.integer_list({1})});
    is_seen = source.emit("Greater", {by_query, zero});
  } else {
    source.refuse("its mask is of a form that is not read");
    return scores;
  }
  return with_hidden(source, scores, is_seen, low);
}

ValueId rotated_pairs(NodeSource& source, ValueId a, ValueId cosine, ValueId sine,
                      std::int64_t rotated, bool is_interleaved) {
  const ValueId rest = rotated > 0 ? sliced(source, a, rotated, to_end) : ValueId{};
  const ValueId turning = rotated > 0 ? sliced(source, a, 0, rotated) : a;
  ValueId x, y;
  if (is_interleaved) {
    x = sliced(source, turning, 0, to_end, 2);
    y = sliced(source, turning, 1, to_end, 2);
  } else {
    // Halves of an extent that is not known yet.
    const ValueId half =
        source.emit("Div", {extents(source, turning, 3, 4), source.integer_list({2})});
    const ValueId last = source.integer_list({-1});
    x = source.emit("Slice", {turning, source.integer_list({0}), half, last});
    y = source.emit("Slice", {turning, half, source.integer_list({to_end}), last});
  }
  const auto product = [&](ValueId left, ValueId right) {
    return source.emit("Mul", {left, right});
  };
  ValueId first = source.emit("Sub", {product(x, cosine), product(y, sine)});
  ValueId second = source.emit("Add", {product(x, sine), product(y, cosine)});
  const std::vector<graph::Attribute> along_last = {{"axis", std::int64_t{-1}}};
  ValueId turned;
  if (is_interleaved) {
    const ValueId last = source.integer_list({-1});
    first = source.emit("Unsqueeze", {first, last});
    second = source.emit("Unsqueeze", {second, last});
    turned = source.emit("Reshape", {source.emit("Concat", {first, second}, along_last),
                                     source.emit("Shape", {turning})});
  } else {
    turned = source.emit("Concat", {first, second}, along_last);
  }
  return rotated > 0 ? source.emit("Concat", {turned, rest}, along_last) : turned;
}

namespace {

/// The factor of scores: given, or 1 / sqrt(extent of a head).
ValueId scale_of(NodeSource& source, ValueId q) {
  if (source.has("scale")) {
    return source.scalar(source.real("scale", 1), q);
  }
  const ValueId depth = source.emit("Cast", {extents(source, q, 3, 4)},
                                    {{"to", std::string(name_of(source.type_of(q)))}});
  return source.emit("Reciprocal", {source.emit("Sqrt", {depth})});
}

std::string attention_problem(const NodeSource& source) {
  if (source.has_result(3)) {
    return "its result of scores is not read";
  }
  if (source.has_input(6)) {
    return "lengths of keys without padding are not read";
  }
  if (source.integer("left_window_size", -1) != -1 ||
      source.integer("right_window_size", -1) != -1) {
    return "windows are not read";
  }
  if (source.has_input(4) != source.has_input(5)) {
    return "it has past keys without values, or values without keys";
  }
  return {};
}

}  // namespace

// Attention(q, k, v, mask, past) --> products and a softmax. Query heads in groups share a head of
// keys: q is [b, kv heads, group, q, d] while it is multiplied, k and v are [b, kv heads, 1, k, d].
void read_attention(NodeSource& source) {
  const std::string problem = attention_problem(source);
  if (!problem.empty()) {
    source.refuse(problem);
    return;
  }
  const bool is_joined = source.has("q_num_heads");
  const std::int64_t q_heads = source.integer("q_num_heads", 1);
  const std::int64_t kv_heads = source.integer("kv_num_heads", q_heads);
  if (q_heads < 1 || kv_heads < 1) {
    source.refuse("it has no heads");
    return;
  }
  ValueId q = source.input(0), k = source.input(1), v = source.input(2);
  if (is_joined) {
    q = split_heads(source, q, q_heads);
    k = split_heads(source, k, kv_heads);
    v = split_heads(source, v, kv_heads);
  }
  const std::vector<graph::Attribute> along_keys = {{"axis", std::int64_t{2}}};
  if (source.has_input(4)) {
    k = source.emit("Concat", {source.input(4), k}, along_keys);
    v = source.emit("Concat", {source.input(5), v}, along_keys);
  }
  const ValueId group = source.integer_list({2});
  const ValueId in_groups = joined(
      source, {extents(source, k, 0, 2), source.integer_list({-1}), extents(source, q, 2, 4)});
  const ValueId scaled = source.emit("Mul", {q, scale_of(source, q)});
  const ValueId keys = transposed(source, source.emit("Unsqueeze", {k, group}), {0, 1, 2, 4, 3});
  ValueId scores = source.emit("MatMul", {source.emit("Reshape", {scaled, in_groups}), keys});
  const ValueId by_head = joined(source, {extents(source, q, 0, 3), extents(source, k, 2, 3)});
  const ValueId by_group = joined(source, {extents(source, k, 0, 2), source.integer_list({-1}),
                                           extents(source, q, 2, 3), extents(source, k, 2, 3)});
  scores = capped(source, source.emit("Reshape", {scores, by_head}));
  const ValueId mask = source.input(3);
  const bool is_masked = mask.valid() && source.type_of(mask) == DType::boolean;
  ValueId is_seen = is_masked ? mask : ValueId{};
  if (source.integer("is_causal", 0) != 0) {
    const ValueId is_past = causal(source, q, k, source.input(4));
    is_seen = is_masked ? source.emit("And", {is_past, mask}) : is_past;
  }
  if (is_seen.valid()) {
    const ValueId low = source.scalar(-HUGE_VAL, scores);
    scores = source.emit("Where", {is_seen, scores, low});
  }
  if (mask.valid() && !is_masked) {
    scores = source.emit("Add", {scores, mask});
  }
  ValueId soft = source.emit("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  if (is_masked) {  // a query that sees no key gets nothing
    soft = source.emit("Where", {is_seen, soft, source.scalar(0, soft)});
  }
  const ValueId sums = source.emit(
      "MatMul", {source.emit("Reshape", {soft, by_group}), source.emit("Unsqueeze", {v, group})});
  const ValueId shape = joined(source, {extents(source, q, 0, 3), extents(source, v, 3, 4)});
  if (is_joined) {
    source.finish_as(0, joined_heads(source, source.emit("Reshape", {sums, shape})));
  } else {
    source.finish("Reshape", {sums, shape}, {}, 1);
  }
  if (source.has_result(1)) {
    source.finish_as(1, k);
  }
  if (source.has_result(2)) {
    source.finish_as(2, v);
  }
}

// com.microsoft.Attention(x, w, bias, mask, past, summand of scores): x * w + bias is queries, keys
// and values side by side. Shapes are known.
void read_packed_attention(NodeSource& source) {
  const std::int64_t heads = source.integer("num_heads", 0);
  const graph::Shape& w = source.net().value(source.input(1)).shape;
  Ints sizes = source.integers("qkv_hidden_sizes");
  if (sizes.empty() && w.size() == 2) {
    sizes = Ints(3, w[1] / 3);
  }
  if (source.has_input(4) || source.has_result(1) || source.integer("do_rotary", 0) != 0) {
    source.refuse("past keys and turned positions are not read");
    return;
  }
  if (sizes.size() != 3 || heads < 1 || sizes[0] < heads) {
    source.refuse("it has no heads");
    return;
  }
  ValueId all = source.emit("MatMul", {source.input(0), source.input(1)});
  all = source.has_input(2) ? source.emit("Add", {all, source.input(2)}) : all;
  std::int64_t begin = 0;
  std::vector<ValueId> parts;
  for (const std::int64_t size : sizes) {
    parts.push_back(split_heads(source, sliced(source, all, begin, begin + size), heads));
    begin += size;
  }
  const ValueId q = scaled_queries(source, parts[0], sizes[0] / heads);
  ValueId scores = source.emit("MatMul", {q, transposed(source, parts[1], {0, 1, 3, 2})});
  const double low = source.real("mask_filter_value", -10000);
  if (source.has_input(3)) {
    const graph::Shape x = source.net().value(source.input(0)).shape;
    if (x.size() != 3) {
      source.refuse("its input is no rows");
      return;
    }
    scores = with_hidden_keys(source, scores, source.input(3), low, x[0], x[1]);
  }
  if (source.integer("unidirectional", 0) != 0) {
    scores = with_hidden(source, scores, causal(source, parts[0], parts[1], {}), low);
  }
  scores = source.has_input(5) ? source.emit("Add", {scores, source.input(5)}) : scores;
  const ValueId soft = source.emit("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  source.finish_as(0, joined_heads(source, source.emit("MatMul", {soft, parts[2]})));
}

// com.microsoft.EmbedLayerNormalization(tokens, segments, rows by token, by position, by segment,
// scale, bias, mask, positions) --> the norm of the sum of rows; how many tokens the mask shows;
// the sum.
void read_embed_norm(NodeSource& source) {
  for (const std::size_t i : {0, 2, 3, 5, 6}) {
    if (!source.has_input(i)) {
      source.refuse("its input " + std::to_string(i) + " is absent");
      return;
    }
  }
  const ValueId tokens = source.input(0);
  const graph::Shape shape = source.net().value(tokens).shape;
  if (shape.size() != 2) {
    source.refuse("its tokens are no rows");
    return;
  }
  ValueId positions = source.input(3);
  positions =
      source.has_input(8)
          ? source.emit("Gather", {positions, source.input(8)})
          : source.emit("Slice", {positions, source.integer_list({0}),
                                  source.integer_list({shape[1]}), source.integer_list({0})});
  ValueId sum = source.emit("Add", {source.emit("Gather", {source.input(2), tokens}), positions});
  if (source.has_input(4) && source.has_input(1)) {
    sum = source.emit("Add", {sum, source.emit("Gather", {source.input(4), source.input(1)})});
  }
  source.finish("LayerNormalization", {sum, source.input(5), source.input(6)},
                {{"axis", std::int64_t{-1}}, {"epsilon", source.real("epsilon", 1e-12F)}}, 1);
  if (source.has_result(1)) {
    const std::vector<std::int32_t> zeros(static_cast<std::size_t>(shape[0]), 0);
    source.finish_as(
        1, source.has_input(7)
               ? source.emit("ReduceSum",
                             {source.emit("Cast", {source.input(7)}, {{"to", std::string("i32")}}),
                              source.integer_list({1})},
                             {{"keepdims", std::int64_t{0}}})
               : source.constant(graph::constant_of<std::int32_t>(DType::i32, {shape[0]}, zeros)));
  }
  if (source.has_result(2)) {
    source.finish_as(2, sum);
  }
}

// RotaryEmbedding(x, cos, sin, positions) --> (a cos - b sin, a sin + b cos) of pairs (a, b), which
// are halves of a head or neighbours. What lies behind the rotated part stays.
void read_rotary(NodeSource& source) {
  const bool is_joined = source.has("num_heads") && source.integer("num_heads", 0) > 0;
  const std::int64_t rotated = source.integer("rotary_embedding_dim", 0);
  const bool is_interleaved = source.integer("interleaved", 0) != 0;
  ValueId x = source.input(0);
  x = is_joined ? split_heads(source, x, source.integer("num_heads", 1)) : x;
  const auto table = [&](std::size_t i) {
    ValueId values = source.input(i);
    values = source.has_input(3) ? source.emit("Gather", {values, source.input(3)}) : values;
    values = rotated > 0 ? sliced(source, values, 0, rotated / 2) : values;
    return source.emit("Unsqueeze", {values, source.integer_list({1})});
  };
  const ValueId cosine = table(1), sine = table(2);
  const ValueId turned = rotated_pairs(source, x, cosine, sine, rotated, is_interleaved);
  source.finish_as(0, is_joined ? joined_heads(source, turned) : turned);
}

}  // namespace tensorsmith::onnx
