// SPDX-License-Identifier: Apache-2.0
// The named lists of workloads.
//
// Own design; shapes from oneDNN's benchdnn inputs, torchvision's networks and the networks of the
// Ansor family's papers. Not here: how they are measured.
#pragma once

#include <string>
#include <vector>

namespace tensorsmith::bench {

struct Suite {
  std::string name;
  /// "A or B": ways to compute the same, of which the fastest races; see run_case.
  std::vector<std::string> workloads;
  /// How often a network has each; empty: the workloads are of no network.
  std::vector<int> counts = {};
};

/// The same workloads in another class: `name` --> `name` + suffix, each text changed.
template <class Change>
void add_variant(std::vector<Suite>& suites, const std::string& name, const std::string& suffix,
                 const Change& change) {
  for (std::size_t i = 0; i < suites.size(); ++i) {
    if (suites[i].name == name) {
      Suite variant{name + suffix, {}, suites[i].counts};
      for (const std::string& workload : suites[i].workloads) {
        variant.workloads.push_back(change(workload));
      }
      suites.push_back(std::move(variant));
      return;
    }
  }
}

/// A 3 x 3 convolution of stride 1, by tiles of 4 x 4 or 2 x 2 outputs or as it is.
inline std::string any_algorithm(const std::string& sizes) {
  const std::string conv = "conv2d:" + sizes + ",k=3,s=1,p=1";
  return conv + ",winograd=4,layout=free or " + conv + ",winograd=2,layout=free or " + conv +
         ",layout=free";
}

/// Rows at once, or a block of columns at a time: the faster one.
inline std::string whole_or_online(const std::string& rows) {
  return rows + ",online=4096 or " + rows;
}

/// Class b of matrix products; convolutions with activations and weights as given (class a).
inline std::vector<Suite> with_variants(std::vector<Suite> suites) {
  for (const char* name : {"gemm_square", "gemm_prime", "gemm_skinny", "bert", "bmm"}) {
    add_variant(suites, name, "_b", [](const std::string& text) { return text + ",packed"; });
  }
  for (const std::string layout : {"nhwc", "nchw"}) {
    add_variant(suites, "resnet50", "_" + layout, [&](const std::string& text) {
      return text.substr(0, text.rfind("free")) + layout;
    });
  }
  for (const std::string layout : {"nchw", "free"}) {
    add_variant(suites, "depthwise", "_" + layout,
                [&](const std::string& text) { return text + ",layout=" + layout; });
  }
  return suites;
}

inline const std::vector<Suite>& all_suites() {
  static const std::vector<Suite> suites = with_variants({
      {"quick",
       {"gemm:512x512x512:f32", "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,layout=free"}},
      {"gemm_square",
       {"gemm:64x64x64:f32", "gemm:128x128x128:f32", "gemm:256x256x256:f32", "gemm:512x512x512:f32",
        "gemm:1024x1024x1024:f32", "gemm:2048x2048x2048:f32", "gemm:129x129x129:f32",
        "gemm:513x513x513:f32", "gemm:1025x1025x1025:f32"}},
      {"gemm_prime",
       {"gemm:127x127x127:f32", "gemm:251x251x251:f32", "gemm:509x509x509:f32",
        "gemm:1021x1021x1021:f32", "gemm:127x509x251:f32"}},
      {"gemm_skinny",
       {"gemm:1x4096x4096:f32", "gemm:4x4096x4096:f32", "gemm:16x4096x4096:f32",
        "gemm:32x11008x4096:f32", "gemm:4096x32x4096:f32", "gemm:4096x4096x32:f32",
        "gemm:16x16x65536:f32"}},
      {"bert",
       {"gemm:128x768x768:f32", "gemm:128x3072x768:f32", "gemm:128x768x3072:f32",
        "gemm:384x1024x1024:f32", "gemm:384x4096x1024:f32", "gemm:384x1024x4096:f32"}},
      {"bmm",
       {"bmm:12x128x128x64:f32,tb", "bmm:12x128x64x128:f32", "bmm:12x384x384x64:f32",
        "bmm:16x197x197x64:f32"}},
      {"conv2d",
       {"conv2d:n=1,h=224,w=224,ci=3,co=64,k=7,s=2,p=3,layout=free",
        "conv2d:n=1,h=56,w=56,ci=64,co=64,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,layout=free",
        "conv2d:n=1,h=28,w=28,ci=128,co=128,k=3,s=1,p=1,layout=free",
        "conv2d:n=1,h=14,w=14,ci=256,co=256,k=3,s=1,p=1,layout=free",
        "conv2d:n=1,h=7,w=7,ci=512,co=512,k=3,s=1,p=1,layout=free"}},
      {"resnet50",
       {"conv2d:n=1,h=224,w=224,ci=3,co=64,k=7,s=2,p=3,layout=free",
        "conv2d:n=1,h=56,w=56,ci=64,co=256,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=56,w=56,ci=64,co=64,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,layout=free",
        "conv2d:n=1,h=56,w=56,ci=256,co=64,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=56,w=56,ci=256,co=512,k=1,s=2,p=0,layout=free",
        "conv2d:n=1,h=56,w=56,ci=256,co=128,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=56,w=56,ci=128,co=128,k=3,s=2,p=1,layout=free",
        "conv2d:n=1,h=28,w=28,ci=128,co=512,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=28,w=28,ci=512,co=128,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=28,w=28,ci=128,co=128,k=3,s=1,p=1,layout=free",
        "conv2d:n=1,h=28,w=28,ci=512,co=256,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=28,w=28,ci=256,co=256,k=3,s=2,p=1,layout=free",
        "conv2d:n=1,h=14,w=14,ci=256,co=1024,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=14,w=14,ci=1024,co=256,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=14,w=14,ci=256,co=256,k=3,s=1,p=1,layout=free",
        "conv2d:n=1,h=14,w=14,ci=1024,co=2048,k=1,s=2,p=0,layout=free",
        "conv2d:n=1,h=14,w=14,ci=1024,co=512,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=14,w=14,ci=512,co=512,k=3,s=2,p=1,layout=free",
        "conv2d:n=1,h=7,w=7,ci=512,co=2048,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=7,w=7,ci=2048,co=512,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=7,w=7,ci=512,co=512,k=3,s=1,p=1,layout=free",
        "conv2d:n=1,h=28,w=28,ci=512,co=1024,k=1,s=2,p=0,layout=free"},
       {1, 4, 1, 3, 2, 1, 1, 1, 4, 3, 3, 1, 1, 6, 5, 5, 1, 1, 1, 3, 2, 2, 1}},
      {"conv_epilogue",
       {"conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,layout=free,bias,relu",
        "conv2d:n=1,h=14,w=14,ci=256,co=256,k=3,s=1,p=1,layout=free,bias,relu",
        "conv2d:n=1,h=56,w=56,ci=64,co=256,k=1,s=1,p=0,layout=free,bias,add,relu",
        "conv2d:n=1,h=14,w=14,ci=256,co=1024,k=1,s=1,p=0,layout=free,bias,add,relu",
        "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,bias,relu",
        "conv2d:n=1,h=14,w=14,ci=256,co=256,k=3,s=1,p=1,bias,relu",
        "conv2d:n=1,h=56,w=56,ci=64,co=256,k=1,s=1,p=0,bias,add,relu",
        "conv2d:n=1,h=14,w=14,ci=256,co=1024,k=1,s=1,p=0,bias,add,relu"}},
      {"gemm_epilogue",
       {"gemm:512x512x512:f32,bias,relu", "gemm:512x512x512:f32,bias,gelu",
        "gemm:128x3072x768:f32,bias,gelu", "gemm:384x4096x1024:f32,bias,gelu",
        "gemm:128x768x3072:f32,bias,add"}},
      {"gemm_large",
       {"gemm:512x512x512:f32", "gemm:1024x1024x1024:f32", "gemm:2048x2048x2048:f32"}},
      {"parallel",
       {"gemm:512x512x512:f32", "gemm:1024x1024x1024:f32", "gemm:384x4096x1024:f32",
        "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,layout=free",
        "conv2d:n=1,h=28,w=28,ci=128,co=512,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=14,w=14,ci=256,co=256,k=3,s=1,p=1,layout=free"}},
      {"recorded",
       {"gemm:512x512x512:f32", "gemm:1024x1024x1024:f32", "gemm:128x3072x768:f32",
        "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1",
        "conv2d:n=1,h=14,w=14,ci=256,co=256,k=3,s=1,p=1"}},
      {"held_out",  // not looked at while rules, drafts and seeds were made
       {"gemm:300x700x500:f32", "gemm:777x333x555:f32", "gemm:197x768x768:f32",
        "gemm:1500x384x1536:f32", "gemm:8x11008x4096:f32", "gemm:2000x64x1000:f32",
        "bmm:8x77x77x80:f32,tb", "bmm:8x77x80x77:f32",
        "conv2d:n=1,h=35,w=35,ci=192,co=48,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=35,w=35,ci=48,co=64,k=5,s=1,p=2,layout=free",
        "conv2d:n=1,h=14,w=14,ci=96,co=576,k=1,s=1,p=0,layout=free",
        "conv2d:n=1,h=28,w=28,ci=256,co=512,k=3,s=1,p=1,layout=free",
        "conv2d:n=1,h=75,w=75,ci=32,co=64,k=3,s=2,p=1",
        "conv2d:n=1,h=19,w=19,ci=728,co=728,k=1,s=1,p=0"}},
      {"depthwise",  // MobileNetV2
       {"depthwise:n=1,h=112,w=112,c=32,k=3,s=1,p=1", "depthwise:n=1,h=112,w=112,c=96,k=3,s=2,p=1",
        "depthwise:n=1,h=56,w=56,c=144,k=3,s=1,p=1", "depthwise:n=1,h=56,w=56,c=144,k=3,s=2,p=1",
        "depthwise:n=1,h=28,w=28,c=192,k=3,s=1,p=1", "depthwise:n=1,h=28,w=28,c=192,k=3,s=2,p=1",
        "depthwise:n=1,h=14,w=14,c=384,k=3,s=1,p=1", "depthwise:n=1,h=14,w=14,c=576,k=3,s=1,p=1",
        "depthwise:n=1,h=14,w=14,c=576,k=3,s=2,p=1", "depthwise:n=1,h=7,w=7,c=960,k=3,s=1,p=1"}},
      {"transposed",  // DCGAN
       {"conv2d_transpose:n=1,h=1,w=1,ci=100,co=512,k=4,s=1,p=0,layout=free",
        "conv2d_transpose:n=1,h=4,w=4,ci=512,co=256,k=4,s=2,p=1,layout=free",
        "conv2d_transpose:n=1,h=8,w=8,ci=256,co=128,k=4,s=2,p=1,layout=free",
        "conv2d_transpose:n=1,h=16,w=16,ci=128,co=64,k=4,s=2,p=1,layout=free",
        "conv2d_transpose:n=1,h=32,w=32,ci=64,co=3,k=4,s=2,p=1,layout=free"}},
      {"conv3d",  // R3D-18
       {"conv3d:n=1,d=16,h=112,w=112,ci=3,co=64,k=3x7x7,s=1x2x2,p=1x3x3,layout=free",
        "conv3d:n=1,d=16,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,layout=free",
        "conv3d:n=1,d=8,h=28,w=28,ci=128,co=128,k=3,s=1,p=1,layout=free",
        "conv3d:n=1,d=8,h=28,w=28,ci=128,co=256,k=3,s=2,p=1,layout=free",
        "conv3d:n=1,d=4,h=14,w=14,ci=256,co=256,k=3,s=1,p=1,layout=free",
        "conv3d:n=1,d=2,h=7,w=7,ci=512,co=512,k=3,s=1,p=1,layout=free"}},
      {"winograd",  // any algorithm, of the library as well
       {any_algorithm("n=1,h=56,w=56,ci=64,co=64"), any_algorithm("n=1,h=28,w=28,ci=128,co=128"),
        any_algorithm("n=1,h=14,w=14,ci=256,co=256"), any_algorithm("n=1,h=7,w=7,ci=512,co=512")}},
      {"grouped",  // ResNeXt-50 32x4d, ShuffleNet, and 1-d convolutions of speech networks
       {"conv2d:n=1,h=56,w=56,ci=128,co=128,k=3,s=1,p=1,groups=32,layout=free",
        "conv2d:n=1,h=14,w=14,ci=512,co=512,k=3,s=1,p=1,groups=32,layout=free",
        "conv1d:n=1,w=1500,ci=384,co=384,k=3,s=1,p=1,layout=free",
        "conv1d:n=1,w=3000,ci=80,co=384,k=3,s=2,p=1,layout=free"}},
      {"chains",  // BERT: what follows the products of an attention block, and attention itself;
                  // the first convolution of ResNet, and one of VGG, with the pooling behind them;
                  // MobileNetV2: the first two convolutions of its blocks 2, 3 and 5;
                  // elementwise: batch norm, residual and relu of ResNet-50, bias and gelu of
                  // BERT-large, bias, layer scale and residual of DINOv2 ViT-L, and the gate of
                  // Conformer-L on 30 s
       {"gemm:128x768x768:f32,bias,add,layernorm", "gemm:128x768x3072:f32,bias,add,layernorm",
        "attention:12x128x128x64", "attention:12x384x384x64",
        "conv2d:n=1,h=224,w=224,ci=3,co=64,k=7,s=2,p=3,layout=free,bias,relu,max_pool=3,pool_s=2,"
        "pool_p=1",
        "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,layout=free,bias,relu,max_pool=2",
        "conv2d:n=1,h=112,w=112,ci=16,co=96,k=1,s=1,p=0,layout=free,bias,relu,depthwise=3,dw_s=2,"
        "dw_p=1",
        "conv2d:n=1,h=56,w=56,ci=24,co=144,k=1,s=1,p=0,layout=free,bias,relu,depthwise=3,dw_p=1",
        "conv2d:n=1,h=28,w=28,ci=32,co=192,k=1,s=1,p=0,layout=free,bias,relu,depthwise=3,dw_p=1",
        "pointwise:3136x256:f32,mul_per_column,add_per_column,add,relu",
        "pointwise:384x4096:f32,add_per_column,gelu",
        "pointwise:257x1024:f32,add_per_column,mul_per_column,add",
        "pointwise:750x512:f32,sigmoid,mul"}},
      {"int8",  // requantized products, and convolutions of ResNet-50
       {"gemm:512x512x512:u8,weights=i8,requant=u8",
        "gemm:1024x1024x1024:u8,weights=i8,requant=u8,packed",
        "gemm:128x768x768:u8,weights=i8,requant=u8,packed",
        "gemm:128x3072x768:u8,weights=i8,relu,requant=u8,packed",
        "gemm:128x768x3072:u8,weights=i8,requant=u8,packed",
        "conv2d:n=1,h=56,w=56,ci=64,co=64,k=1,s=1,p=0,layout=free,dtype=u8,weights=i8,requant=u8",
        "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,layout=free,dtype=u8,weights=i8,requant=u8",
        "conv2d:n=1,h=28,w=28,ci=128,co=512,k=1,s=1,p=0,layout=free,dtype=u8,weights=i8,"
        "requant=u8",
        "conv2d:n=1,h=14,w=14,ci=256,co=256,k=3,s=1,p=1,layout=free,dtype=u8,weights=i8,"
        "requant=u8",
        "conv2d:n=1,h=28,w=28,ci=128,co=128,k=3,s=2,p=1,dtype=u8,weights=i8,relu,requant=u8"}},
      {"bf16",
       {"gemm:512x512x512:bf16", "gemm:1024x1024x1024:bf16,packed", "gemm:128x768x768:bf16,packed",
        "gemm:128x3072x768:bf16,relu,packed", "gemm:128x768x3072:bf16,packed",
        "bmm:12x128x128x64:bf16,tb",
        "conv2d:n=1,h=56,w=56,ci=64,co=64,k=1,s=1,p=0,layout=free,dtype=bf16",
        "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,layout=free,dtype=bf16",
        "conv2d:n=1,h=28,w=28,ci=128,co=512,k=1,s=1,p=0,layout=free,dtype=bf16",
        "conv2d:n=1,h=14,w=14,ci=256,co=256,k=3,s=1,p=1,layout=free,dtype=bf16"}},
      {"rows",
       {"softmax:1536x128", "softmax:512x1000", "softmax:1024x1000", "softmax:1024x4096",
        "log_softmax:512x1000", "log_softmax:1024x4096", "layernorm:128x768", "layernorm:512x1024",
        "layernorm:4096x4096", "reduce_sum:1024x4096", "reduce_max:1024x4096",
        "global_avg_pool:n=1,c=2048,h=7,w=7"}},
      {"long_rows",  // 128K words of a language model, and rows that no cache holds
       {whole_or_online("softmax:64x128256"), whole_or_online("log_softmax:64x128256"),
        whole_or_online("softmax:2x16777216"), whole_or_online("log_softmax:2x16777216")}},
  });
  return suites;
}

}  // namespace tensorsmith::bench
