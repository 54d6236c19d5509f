// SPDX-License-Identifier: Apache-2.0
// Readers: each brings a node of some versions of an operator into the form of the newest one.
//
// Private to lib/. After the public operator definitions. A reader takes a node whose inputs and
// attributes are those of its version (operator_table.hpp) and ends it with finish or finish_as, or
// refuses it. Values that only a run would give are never asked for.
#pragma once

#include "onnx/node_source.hpp"

namespace tensorsmith::onnx {

/// Inputs and attributes as they are: the version's form is the newest one.
void read_same(NodeSource& source);
/// So, with the first result alone; others, of training and of caches, are computed by nobody.
void read_one_result(NodeSource& source);

// readers_values.cpp
void read_constant(NodeSource& source);
void read_identity(NodeSource& source);
void read_cast(NodeSource& source);
void read_cast_like(NodeSource& source);
void read_typed(NodeSource& source);
void read_dft(NodeSource& source);
void read_dropout(NodeSource& source);
void read_sum(NodeSource& source);
void read_mean(NodeSource& source);
void read_max(NodeSource& source);
void read_min(NodeSource& source);
void read_clip(NodeSource& source);
void read_batch_norm(NodeSource& source);
void read_group_norm(NodeSource& source);
void read_max_pool(NodeSource& source);

// readers_shapes.cpp
void read_axes(NodeSource& source);
void read_softmax(NodeSource& source);
void read_slice(NodeSource& source);
void read_split(NodeSource& source);
void read_pad(NodeSource& source);
void read_resize(NodeSource& source);
void read_upsample(NodeSource& source);
void read_top_k(NodeSource& source);
void read_scatter(NodeSource& source);
void read_grid_sample(NodeSource& source);

// readers_expanded.cpp
void read_shrink(NodeSource& source);
void read_is_inf(NodeSource& source);
void read_mean_variance(NodeSource& source);
void read_lp_norm(NodeSource& source);
void read_swiglu(NodeSource& source);
void read_fast_gelu(NodeSource& source);
void read_quick_gelu(NodeSource& source);
void read_bias_gelu(NodeSource& source);
void read_skip_norm(NodeSource& source);
void read_simplified_norm(NodeSource& source);

// readers_quantized.cpp
void read_quantize(NodeSource& source);
void read_matmul_integer(NodeSource& source);
void read_conv_integer(NodeSource& source);
void read_qlinear_matmul(NodeSource& source);
void read_qlinear_conv(NodeSource& source);
void read_dynamic_quantize(NodeSource& source);

// readers_attention.cpp
void read_attention(NodeSource& source);
void read_rotary(NodeSource& source);
void read_packed_attention(NodeSource& source);
void read_embed_norm(NodeSource& source);

// readers_decoder.cpp
void read_multi_head_attention(NodeSource& source);
void read_rotary_by_position(NodeSource& source);
void read_group_query_attention(NodeSource& source);
void read_matmul_of_bits(NodeSource& source);

// readers_contributed.cpp
void read_fused_matmul(NodeSource& source);
void read_fused_conv(NodeSource& source);
void read_fused_gemm(NodeSource& source);
void read_qlinear_binary(NodeSource& source);
void read_qlinear_concat(NodeSource& source);
void read_qlinear_unary(NodeSource& source);
void read_qgemm(NodeSource& source);
void read_matmul_integer_to_float(NodeSource& source);
void read_dynamic_quantize_matmul(NodeSource& source);
void read_dynamic_quantize_lstm(NodeSource& source);

/// The importer itself expands them; never called.
void read_if_constant(NodeSource& source);
void read_loop(NodeSource& source);
void read_scan(NodeSource& source);

}  // namespace tensorsmith::onnx
