// SPDX-License-Identifier: Apache-2.0
// Every kind of named workload with every type it has, in odd small sizes.
//
// Test support. The list is the grammar's own: a new line of it is in here by itself.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/ops/workload_grammar.hpp"

namespace tensorsmith::test {

/// Every size above 12 becomes one from `least` to least + range - 1.
inline std::string with_small_sizes(const std::string& text, std::int64_t least,
                                    std::int64_t range) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_size = at > 0 && std::string(":x=").find(text[at - 1]) != std::string::npos &&
                         text[at] >= '0' && text[at] <= '9';
    if (!is_size) {
      result += text[at++];
      continue;
    }
    char* end = nullptr;
    const std::int64_t size = std::strtoll(text.c_str() + at, &end, 10);
    result += std::to_string(size > 12 ? least + size * 7 % range : size);
    at = static_cast<std::size_t>(end - text.c_str());
  }
  return result;
}

/// The text with another element type; it may be one that the workload does not have.
inline std::string with_type(std::string text, const std::string& type) {
  const std::size_t named = text.find(":f32");
  if (named != std::string::npos) {
    return text.replace(named + 1, 3, type);
  }
  return text + (text.find('=') != std::string::npos ? ",dtype=" : ":") + type;
}

/// Texts of workloads that parse.
inline std::vector<std::string> every_workload() {
  std::vector<std::string> all;
  for (const ops::GrammarLine& line : ops::workload_grammar) {
    for (const char* type : {"f32", "f16", "bf16", "f64", "i32", "i8", "u8", "i64"}) {
      for (const std::int64_t range : {29, 11, 5}) {  // such that interpreters have time for it
        const std::string text =
            with_type(with_small_sizes(line.example, range > 5 ? 9 : 4, range), type);
        const auto workload = ops::parse_workload(text);
        if (!workload) {
          break;  // no such type
        }
        if (workload->nominal_flop < 4e5) {
          all.push_back(text);
          break;
        }
      }
    }
  }
  for (const char* text :
       {"gemm:15x40x33:f32,bias,gelu",
        "gemm:13x30x21:f32,ta,add,relu",
        "gemm:12x32x24:f32,tc",
        "gemm:9x24x32:f32,layernorm",
        "gemm:15x40x33:u8,weights=i8,bias,requant=u8",
        "gemm:19x24x31:i8,tb",
        "gemm:9x35x20:f32,packed",
        "gemm:8x24x16:f16,tb,bias,gelu",
        "gemm:7x33x18:bf16,relu,nan=propagate",
        "bmm:2x6x33x16:i8,tb,requant=i8",
        "conv2d:n=1,h=7,w=9,ci=3,co=19,k=3,p=1,winograd=2,layout=free",
        "conv2d:n=1,h=9,w=8,ci=5,co=9,k=3,p=1,winograd=4,bias,relu",
        "conv2d:n=1,h=9,w=7,ci=6,co=20,k=3,s=2,p=1,layout=nchw,batchnorm,relu",
        "conv2d:n=1,h=8,w=9,ci=8,co=24,k=1,layout=free,dtype=u8,weights=i8,bias,requant=u8",
        "conv2d:n=1,h=9,w=9,ci=12,co=18,k=3,p=1,groups=3,add,relu",
        "conv2d:n=2,h=9,w=7,ci=3,co=20,k=3,p=1,relu,max_pool=3,pool_s=2,pool_p=1",
        "conv2d:n=1,h=9,w=7,ci=5,co=20,k=1,bias,relu,depthwise=3,dw_p=1",
        "depthwise:n=1,h=9,w=11,c=19,k=3,p=1,layout=nchw,relu",
        "max_pool:n=1,c=7,h=11,w=13,k=3,s=2,p=1,ceil,layout=nchw,nan=propagate",
        "softmax:7x45,online=16",
        "softmax:9x21,transposed",
        "layernorm:9x37,transposed",
        "argmax:7x45:f32,last,nan=propagate",
        "reduce_var:5x33,unbiased",
        "pointwise:13x35:f32,sigmoid,mul_per_column",
        "pointwise:13x35:f32,tanh,div_per_row",
        "pointwise:13x35:f32,exp,gelu,max",
        "pointwise:4x5x6x35:f32,perm=0x2x3x1",
        "pointwise:9x40:i8,perm=1x0",
        "pointwise:35x9:f64,tanh,exp"}) {
    all.emplace_back(text);
  }
  return all;
}

}  // namespace tensorsmith::test
