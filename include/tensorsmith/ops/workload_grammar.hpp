// SPDX-License-Identifier: Apache-2.0
// The grammar of workload strings, for people and for the reader.
//
// Floor 3. Own design. Not here: reading them (ops/workload.hpp), the way back
// (ops/workload_text.hpp).
#pragma once

#include <array>

namespace tensorsmith::ops {

/// One form of workload string, with an example that parses.
struct GrammarLine {
  const char* name;
  const char* form;
  const char* example;
};
inline constexpr std::array<GrammarLine, 28> workload_grammar{{
    {"gemm", "gemm:MxNxK[:DTYPE][,weights=i8|u8][,ta][,tb][,tc][,EPILOGUE][,layernorm][,packed]",
     "gemm:512x512x512:f32"},
    {"bmm", "bmm:BxMxNxK[:DTYPE][,weights=i8|u8][,ta][,tb][,tc][,EPILOGUE][,layernorm][,packed]",
     "bmm:12x128x128x64:f32,tb"},
    {"attention", "attention:BxMxNxD[:DTYPE]; softmax(Q K^T / sqrt(D)) V, N rows of K and V",
     "attention:12x128x128x64"},
    {"conv1d", "conv1d:n=N,w=W,ci=C,co=C,k=K[,s=1][,p=0][,dil=1][,OPTIONS]",
     "conv1d:n=1,w=256,ci=64,co=128,k=3,s=2,p=1"},
    {"conv2d", "conv2d:n=N,h=H,w=W,ci=C,co=C,k=K[,s=1][,p=0][,d=1][,OPTIONS]",
     "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1"},
    {"conv3d", "conv3d:n=N,d=D,h=H,w=W,ci=C,co=C,k=K[,s=1][,p=0][,dil=1][,OPTIONS]",
     "conv3d:n=1,d=16,h=28,w=28,ci=8,co=16,k=3,s=1,p=1"},
    {"conv1d_transpose", "conv1d_transpose: as conv1d, [,op=0]",
     "conv1d_transpose:n=1,w=16,ci=8,co=4,k=4,s=2,p=1"},
    {"conv2d_transpose", "conv2d_transpose: as conv2d, [,op=0]",
     "conv2d_transpose:n=1,h=4,w=4,ci=512,co=256,k=4,s=2,p=1"},
    {"conv3d_transpose", "conv3d_transpose: as conv3d, [,op=0]",
     "conv3d_transpose:n=1,d=4,h=4,w=4,ci=8,co=4,k=4,s=2,p=1"},
    {"depthwise", "depthwise:n=N,h=H,w=W,c=C,k=K[,s=1][,p=0][,d=1][,OPTIONS]",
     "depthwise:n=1,h=56,w=56,c=144,k=3,s=1,p=1"},
    {"max_pool",
     "max_pool:n=N,c=C,h=H,w=W,k=K[,s=1][,p=0][,pe=p][,ceil][,layout=nhwc|nchw][,dtype=f32][,NAN]",
     "max_pool:n=1,c=64,h=112,w=112,k=3,s=2,p=1"},
    {"avg_pool", "avg_pool: as max_pool, [,count_include_pad=1|0]",
     "avg_pool:n=1,c=64,h=56,w=56,k=2,s=2"},
    {"global_avg_pool", "global_avg_pool:n=N,c=C,h=H,w=W[,layout=nhwc|nchw][,dtype=f32]",
     "global_avg_pool:n=1,c=2048,h=7,w=7"},
    {"batchnorm", "batchnorm:n=N,c=C,h=H,w=W[,layout=nhwc|nchw][,dtype=f32][,relu]",
     "batchnorm:n=1,c=64,h=56,w=56,relu"},
    {"softmax", "softmax:RxC[:DTYPE][,online=B][,transposed], B columns of a row at a time",
     "softmax:512x1000"},
    {"log_softmax", "log_softmax: as softmax", "log_softmax:512x1000"},
    {"layernorm", "layernorm:RxC[:DTYPE][,transposed]", "layernorm:512x1024"},
    {"rmsnorm", "rmsnorm:RxC[:DTYPE][,transposed]", "rmsnorm:512x1024"},
    {"reduce_sum", "reduce_sum:RxC[:DTYPE]", "reduce_sum:1024x4096"},
    {"reduce_prod", "reduce_prod:RxC[:DTYPE]", "reduce_prod:64x64"},
    {"reduce_max", "reduce_max:RxC[:DTYPE][,NAN]", "reduce_max:1024x4096"},
    {"reduce_min", "reduce_min:RxC[:DTYPE][,NAN]", "reduce_min:10x1024"},
    {"argmax", "argmax:RxC[:DTYPE][,last][,NAN]; the first, or last, of the largest, as i32",
     "argmax:512x1000"},
    {"argmin", "argmin: as argmax, of the least", "argmin:512x1000"},
    {"reduce_mean", "reduce_mean:RxC[:DTYPE]", "reduce_mean:1024x4096"},
    {"reduce_var", "reduce_var:RxC[:DTYPE][,unbiased]; unbiased divides by C - 1",
     "reduce_var:512x1024"},
    {"gather", "gather:NxRxC[:DTYPE][,indices=i32|i64]; N rows of a table of R rows of C columns",
     "gather:512x1000x64:f32,indices=i64"},
    {"pointwise", "pointwise:D1x...xDn[:DTYPE][,STEP...][,NAN][,perm=PERMUTATION]",
     "pointwise:3136x256:f32,mul_per_column,add_per_column,add,relu"},
}};
inline constexpr const char* workload_grammar_notes =
    "OPTIONS of convolutions: [,groups=1][,winograd=2|4][,layout=nhwc|nchw|free][,dtype=f32]"
    "[,weights=i8|u8][,EPILOGUE][,packed][,WINDOWS|,DEPTHWISE]. EPILOGUE: "
    "[,bias][,batchnorm][,add][,relu|gelu][,requant=i8|u8][,NAN]. bias adds one number per output "
    "column "
    "or channel, batchnorm (of convolutions) scales and shifts channels by known statistics, "
    "add an operand of the output's shape, layernorm normalizes the rows of what is before it. tc: "
    "the result is [N, M]. transposed: the result is [C, R]. perm=: axis d of the result is axis "
    "perm[d], as in perm=0x2x3x1; there may be no STEP. i8 "
    "and u8 are summed up in i32; requant= makes the sum 8 bits again: times a scale per column or "
    "channel, plus a zero point. weights= is the type of B or W where it is another than the first "
    "operand's. WINDOWS, over all that, of convolutions of h and w: "
    "max_pool=K|avg_pool=K[,pool_s=K][,pool_p=0][,pool_pe=][,pool_ceil][,pool_count_include_pad=]. "
    "DEPTHWISE, a depthwise convolution of all that, without batchnorm, add and requant=: "
    "depthwise=K[,dw_s=1][,dw_p=0][,dw_pe=]; bias, relu and gelu are behind both. p pads both ends "
    "of an axis; pe=, of everything with p, is the padding at the end where that is another one. "
    "op= (output padding): as many more outputs at the end. ceil: the last window may reach beyond "
    "the padding. k, s, p, pe, op, the dilation and the numbers of windows and taps "
    "take one number or one per axis (k=3x5); the dilation is d= or dil=, in conv3d d= is the "
    "depth. STEP, of the value so far: relu|gelu|sigmoid|tanh|exp, or "
    "add|sub|mul|div|max|min with one more operand (integers: relu, add, sub, mul, max and min, "
    "which wrap around): of the shape D1x...xDn, with _per_column "
    "(add_per_column) one number per element of the last axis, with _per_row one per row, the "
    "shape without its last axis. NAN, nan=propagate: NaN makes relu, max, min, max_pool, "
    "reduce_max and reduce_min NaN, and the first NaN is what argmax finds; without it they pass "
    "over NaN (relu of NaN is 0, a maximum of nothing but NaN -inf, argmax then the last column). "
    "Everything else gives NaN where an operand is NaN. DTYPE: f64 f32 f16 bf16 i64 i32 i8 u8. "
    "layout=free is class c, "
    "packed (weights "
    "prepared beforehand) class b, everything else class a.";

}  // namespace tensorsmith::ops
