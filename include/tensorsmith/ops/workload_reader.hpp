// SPDX-License-Identifier: Apache-2.0
// Reader of the grammar of workload strings: from text to the parameters of an operator.
//
// Floor 3. Own design. Grammar: ops/workload_grammar.hpp; numbers, types and epilogues:
// ops/workload_fields.hpp; keys with values: ops/workload_items.hpp. Not here: building the
// operator (ops/workload.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/ops/op.hpp"
#include "tensorsmith/ops/workload_grammar.hpp"
#include "tensorsmith/ops/workload_items.hpp"
#include "tensorsmith/ops/workload_text.hpp"

namespace tensorsmith::ops {

namespace detail {

/// Reads one workload string. Wrong input is an Error inside, a sentence outside.
class WorkloadReader : WorkloadItems {
 public:
  explicit WorkloadReader(std::string_view text) : WorkloadItems(text) {}

  OpParams read() {
    const std::size_t colon = text_.find(':');
    const std::string name = text_.substr(0, colon);
    bool is_known = false;
    std::string known;
    for (const GrammarLine& line : workload_grammar) {
      is_known = is_known || name == line.name;
      example_ = name == line.name ? line.example : example_;
      known += (known.empty() ? "" : ", ") + std::string(line.name);
    }
    if (!is_known) {
      refuse("one of " + known, "\"" + name + "\"");
    }
    if (colon == std::string::npos || colon + 1 == text_.size()) {
      refuse("sizes after \"" + name + ":\" as in " + example_, "nothing");
    }
    const std::string rest = text_.substr(colon + 1);
    if (name == "gemm" || name == "bmm") {
      return read_gemm(rest, name == "bmm");
    }
    if (name == "attention" || name == "pointwise") {
      return name == "attention" ? OpParams(read_attention(rest)) : OpParams(chain(rest));
    }
    for (std::size_t i = 0; i < row_names.size(); ++i) {
      if (name == row_names[i]) {
        return read_rows(rest, static_cast<RowKind>(i));
      }
    }
    if (name == "gather") {
      return read_gather(rest);
    }
    read_items(rest);
    if (name == "batchnorm") {
      return read_batch_norm();
    }
    return name.find("pool") != std::string::npos ? OpParams(read_pool(name))
                                                  : OpParams(read_conv(name));
  }

 private:
  OpParams read_gemm(const std::string& rest, bool is_batched) const {
    GemmParams p;
    p.is_batched = is_batched;
    std::vector<std::string> flags = split_text(rest, ',');
    const std::vector<std::int64_t> numbers =
        sizes_and_type(is_batched ? "BxMxNxK" : "MxNxK", flags[0], p.dtype);
    p.batch = is_batched ? numbers[0] : 1;
    p.m = numbers[numbers.size() - 3];
    p.n = numbers[numbers.size() - 2];
    p.k = numbers[numbers.size() - 1];
    flags.erase(flags.begin());
    for (const std::string& flag : flags) {
      if (flag == "ta" || flag == "tb" || flag == "tc") {
        set_once(flag, flag == "ta" ? p.transpose_a : flag == "tb" ? p.transpose_b : p.transpose_c);
      } else if (flag == "layernorm") {
        set_once(flag, p.layernorm);
      } else if (!epilogue(flag, p)) {
        refuse("flags out of ta, tb, tc, weights=, bias, add, relu, gelu, layernorm, requant=, "
               "packed, nan=propagate",
               "\"" + flag + "\"");
      }
    }
    return p;
  }
  OpParams read_rows(const std::string& rest, RowKind kind) const {
    RowParams p;
    const std::vector<std::string> parts = split_text(rest, ',');
    const std::vector<std::int64_t> numbers = sizes_and_type("RxC", parts[0], p.dtype);
    p.kind = kind;
    p.rows = numbers[0];
    p.columns = numbers[1];
    const std::string key = "online=";
    const bool has_online = kind == RowKind::softmax || kind == RowKind::log_softmax;
    const bool has_matrix = kind < RowKind::sum;
    const bool is_place = kind == RowKind::argmax || kind == RowKind::argmin;
    const bool has_nan = is_place || kind == RowKind::min || kind == RowKind::max;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (has_nan && nan_option(parts[i], p.propagates_nan)) {
        continue;
      }
      if (has_matrix && parts[i] == "transposed") {
        set_once(parts[i], p.is_transposed);
      } else if (is_place && parts[i] == "last") {
        set_once(parts[i], p.is_last);
      } else if (kind == RowKind::variance && parts[i] == "unbiased") {
        set_once(parts[i], p.is_unbiased);
      } else if (has_online && parts[i].rfind(key, 0) == 0 && p.online == 0) {
        p.online = number("the columns of a block", parts[i].substr(key.size()));
      } else {
        refuse(has_online                  ? "online=B once, transposed"
               : has_matrix                ? "transposed"
               : is_place                  ? "last, nan=propagate"
               : has_nan                   ? "nan=propagate or nothing behind the type"
               : kind == RowKind::variance ? "unbiased"
                                           : "nothing behind the type",
               "\"" + parts[i] + "\"");
      }
    }
    return p;
  }
  GatherParams read_gather(const std::string& rest) const {
    GatherParams p;
    const std::vector<std::string> parts = split_text(rest, ',');
    const std::vector<std::int64_t> numbers = sizes_and_type("NxRxC", parts[0], p.dtype);
    p.count = numbers[0];
    p.rows = numbers[1];
    p.columns = numbers[2];
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (i > 1 || (parts[i] != "indices=i32" && parts[i] != "indices=i64")) {
        refuse("indices=i32 or indices=i64 once", "\"" + parts[i] + "\"");
      }
      p.indices = parts[i] == "indices=i64" ? DType::i64 : DType::i32;
    }
    return p;
  }
  OpParams read_attention(const std::string& rest) const {
    AttentionParams p;
    const std::vector<std::int64_t> numbers = sizes_and_type("BxMxNxD", rest, p.dtype);
    p.batch = numbers[0];
    p.queries = numbers[1];
    p.keys = numbers[2];
    p.width = numbers[3];
    return p;
  }

  ConvParams read_conv(const std::string& name) {
    ConvParams p;
    p.depthwise = name == "depthwise";
    p.transposed = name.find("_transpose") != std::string::npos;
    p.rank = p.depthwise ? 2 : name[4] - '0';
    static constexpr const char* extents[] = {"d", "h", "w"};
    p.n = optional("n", 1);
    for (int a = 0; a < p.rank; ++a) {
      p.spatial[static_cast<std::size_t>(a)] = required(extents[a + 3 - p.rank]);
    }
    p.ci = required(p.depthwise ? "c" : "ci");
    p.co = p.depthwise ? p.ci : required("co");
    p.groups = p.depthwise ? p.ci : optional("groups", 1);
    if (find("k") == nullptr) {
      required("k");
    }
    per_axis("k", p.rank, 1, p.kernel);
    per_axis("s", p.rank, 1, p.stride);
    per_axis("p", p.rank, 0, p.pad);
    per_axis("pe", p.rank, 0, p.pad_end);
    if (find("op") != nullptr && !p.transposed) {
      refuse("op= (output padding) of transposed convolutions only", "\"" + name + "\"");
    }
    per_axis("op", p.rank, 0, p.output_padding);
    if (find("dil") != nullptr && p.rank != 3 && find("d") != nullptr) {
      refuse("the dilation once", "\"d=\" and \"dil=\"");
    }
    per_axis("dil", p.rank, 1, p.dilation);
    if (p.rank != 3) {
      per_axis("d", p.rank, 1, p.dilation);
    }
    const std::string where = layout(true);
    p.layout = where == "nchw" ? Layout::nchw : Layout::nhwc;
    p.packing = where == "free" ? PackingClass::free_layout : PackingClass::plain;
    if (const Item* item = find("dtype")) {
      p.dtype = dtype(item->value);
    }
    p.winograd = static_cast<int>(optional("winograd", 0));
    for (Item& item : items_) {
      item.is_used =
          item.is_used || epilogue(item.has_value ? item.key + "=" + item.value : item.key, p);
    }
    read_windows_behind(p);
    read_depthwise_behind(p);
    refuse_unused();
    if (p.ci % p.groups != 0 || p.co % p.groups != 0) {
      refuse("groups that divide ci and co", std::to_string(p.groups));
    }
    for (int a = 0; a < p.rank; ++a) {
      if (p.out_spatial(a) <= 0) {
        refuse("an output that is not empty",
               "a " + std::string(p.transposed ? "padding" : "kernel") + " larger than the " +
                   (p.transposed ? "output" : "padded input") + " along " +
                   extents[a + 3 - p.rank]);
      }
    }
    if (p.has_pool) {
      check_windows(pooling_of(p));
    }
    if (p.has_depthwise &&
        (depthwise_of(p).out_spatial(0) <= 0 || depthwise_of(p).out_spatial(1) <= 0)) {
      refuse("an output that is not empty", "a depthwise kernel larger than its padded input");
    }
    return p;
  }

  /// The pooling behind a convolution.
  void read_windows_behind(ConvParams& p) {
    const bool is_max = find("max_pool") != nullptr, is_average = find("avg_pool") != nullptr;
    if (!is_max && !is_average) {
      return;
    }
    if (is_max && is_average) {
      refuse("at most one of max_pool= and avg_pool=", "both");
    }
    const std::string key = is_max ? "max_pool" : "avg_pool";
    if (p.rank != 2) {
      refuse("convolutions of h and w with " + key + "=", std::to_string(p.rank) + " axes");
    }
    p.has_pool = true;
    p.pool.kind = is_max ? PoolKind::max : PoolKind::average;
    per_axis(key, 2, 1, p.pool.kernel);
    p.pool.stride = p.pool.kernel;
    per_axis("pool_s", 2, 1, p.pool.stride);
    per_axis("pool_p", 2, 0, p.pool.pad);
    read_window_options("pool_", p.pool);
  }

  /// The depthwise convolution behind a convolution.
  void read_depthwise_behind(ConvParams& p) {
    if (find("depthwise") == nullptr) {
      return;
    }
    if (p.rank != 2) {
      refuse("convolutions of h and w with depthwise=", std::to_string(p.rank) + " axes");
    }
    if (p.has_pool || p.batch_norm || p.add || p.requant != ByteType::none) {
      refuse("no pooling, batchnorm, add or requant= with depthwise=", "one");
    }
    p.has_depthwise = true;
    per_axis("depthwise", 2, 1, p.behind.kernel);
    per_axis("dw_s", 2, 1, p.behind.stride);
    per_axis("dw_p", 2, 0, p.behind.pad);
    per_axis("dw_pe", 2, 0, p.behind.pad_end);
  }

  /// Of PoolParams and of PoolWindow, whose keys begin with `prefix`.
  template <class Window>
  void read_window_options(const std::string& prefix, Window& window) {
    per_axis(prefix + "pe", 2, 0, window.pad_end);
    window.ceil_mode = has_flag(prefix + "ceil");
    const std::string key = prefix + "count_include_pad";
    if (const Item* item = find(key)) {
      if (window.kind != PoolKind::average || (item->value != "0" && item->value != "1")) {
        refuse(window.kind == PoolKind::average ? key + "=0 or " + key + "=1"
                                                : key + "= of averages only",
               "\"" + key + "=" + item->value + "\"");
      }
      window.counts_padding = item->value == "1";
    }
  }

  BatchNormParams read_batch_norm() {
    BatchNormParams p;
    p.n = optional("n", 1);
    p.c = required("c");
    p.spatial = {required("h"), required("w")};
    p.layout = layout(false) == "nchw" ? Layout::nchw : Layout::nhwc;
    if (const Item* item = find("dtype")) {
      p.dtype = dtype(item->value);
    }
    p.relu = has_flag("relu");
    refuse_unused();
    return p;
  }

  PoolParams read_pool(const std::string& name) {
    PoolParams p;
    p.is_global = name == "global_avg_pool";
    p.kind = name == "max_pool" ? PoolKind::max : PoolKind::average;
    p.n = optional("n", 1);
    p.c = required("c");
    p.spatial = {required("h"), required("w")};
    if (p.is_global) {
      p.kernel = p.spatial;
    } else {
      required_pool_window(p);
    }
    p.layout = layout(false) == "nchw" ? Layout::nchw : Layout::nhwc;
    if (const Item* item = find("dtype")) {
      p.dtype = dtype(item->value);
    }
    if (const Item* item = find("nan")) {
      nan_option("nan=" + item->value, p.propagates_nan);
    }
    refuse_unused();
    return p;
  }
  void required_pool_window(PoolParams& p) {
    if (find("k") == nullptr) {
      required("k");
    }
    per_axis("k", 2, 1, p.kernel);
    per_axis("s", 2, 1, p.stride);
    per_axis("p", 2, 0, p.pad);
    read_window_options("", p);
    check_windows(p);
  }
  void check_windows(const PoolParams& p) const {
    for (std::size_t a = 0; a < 2; ++a) {
      for (std::int64_t pad : {p.pad[a], p.pad_after(a)}) {
        if (pad >= p.kernel[a]) {
          refuse("padding that is less than the kernel", std::to_string(pad));
        }
      }
      if (p.out_spatial(static_cast<int>(a)) <= 0) {
        refuse("an output that is not empty", "a kernel larger than the padded input");
      }
    }
  }
};

}  // namespace detail

}  // namespace tensorsmith::ops
