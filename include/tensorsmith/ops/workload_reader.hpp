// Reader of the grammar of workload strings: from text to the parameters of an operator.
//
// Floor 3. Own design. Grammar: ops/workload_grammar.hpp; numbers, types and epilogues:
// ops/workload_fields.hpp. Not here: building the operator (ops/workload.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/ops/op.hpp"
#include "tensorsmith/ops/workload_fields.hpp"
#include "tensorsmith/ops/workload_grammar.hpp"
#include "tensorsmith/ops/workload_text.hpp"

namespace tensorsmith::ops {

namespace detail {

/// Reads one workload string. Wrong input is an Error inside, a sentence outside.
class WorkloadReader : WorkloadFields {
 public:
  explicit WorkloadReader(std::string_view text) : WorkloadFields(text) {}

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
    read_items(rest);
    return name.find("pool") != std::string::npos ? OpParams(read_pool(name))
                                                  : OpParams(read_conv(name));
  }

 private:
  struct Item {
    std::string key, value;
    bool has_value = false, is_used = false;
  };

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
      if (flag == "ta" || flag == "tb") {
        set_once(flag, flag == "ta" ? p.transpose_a : p.transpose_b);
      } else if (flag == "layernorm") {
        set_once(flag, p.layernorm);
      } else if (!epilogue(flag, p)) {
        refuse("flags out of ta, tb, weights=, bias, add, relu, gelu, layernorm, requant=, packed, "
               "nan=propagate",
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
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const std::string key = "online=";
      const bool has_online = kind == RowKind::softmax || kind == RowKind::log_softmax;
      const bool has_nan = kind == RowKind::min || kind == RowKind::max || kind == RowKind::argmax;
      if (has_nan && nan_option(parts[i], p.propagates_nan)) {
        continue;
      }
      if (!has_online || parts[i].rfind(key, 0) != 0 || p.online != 0) {
        refuse(has_online ? "online=B once"
               : has_nan  ? "nan=propagate or nothing behind the type"
                          : "nothing behind the type",
               "\"" + parts[i] + "\"");
      }
      p.online = number("the columns of a block", parts[i].substr(key.size()));
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

  void read_items(const std::string& rest) {
    for (const std::string& part : split_text(rest, ',')) {
      Item item;
      const std::size_t equals = part.find('=');
      item.key = part.substr(0, equals);
      item.has_value = equals != std::string::npos;
      item.value = item.has_value ? part.substr(equals + 1) : "";
      for (const Item& other : items_) {
        if (other.key == item.key) {
          refuse("every key once", "\"" + item.key + "\" twice");
        }
      }
      items_.push_back(std::move(item));
    }
  }
  Item* find(const std::string& key) {
    for (Item& item : items_) {
      if (item.key == key && item.has_value) {
        item.is_used = true;
        return &item;
      }
    }
    return nullptr;
  }
  std::int64_t required(const std::string& key) {
    const Item* item = find(key);
    if (item == nullptr) {
      refuse("\"" + key + "=\" as in " + example_, "none");
    }
    return number(key, item->value);
  }
  std::int64_t optional(const std::string& key, std::int64_t otherwise) {
    const Item* item = find(key);
    return item == nullptr ? otherwise : number(key, item->value);
  }
  /// One number for all axes, or one per axis.
  template <std::size_t N>
  void per_axis(const std::string& key, int rank, std::int64_t least,
                std::array<std::int64_t, N>& out) {
    const Item* item = find(key);
    if (item == nullptr) {
      return;
    }
    const std::vector<std::string> parts = split_text(item->value, 'x');
    if (parts.size() != 1 && parts.size() != static_cast<std::size_t>(rank)) {
      refuse("one number or " + std::to_string(rank) + " for " + key, "\"" + item->value + "\"");
    }
    for (std::size_t a = 0; a < static_cast<std::size_t>(rank); ++a) {
      out[a] = number(key, parts[parts.size() == 1 ? 0 : a], least);
    }
  }
  /// "nhwc", "nchw" or, where allowed, "free".
  std::string layout(bool allows_free) {
    const Item* item = find("layout");
    const std::string value = item == nullptr ? "nhwc" : item->value;
    if (value != "nhwc" && value != "nchw" && !(allows_free && value == "free")) {
      refuse(std::string("layout=") + (allows_free ? "nchw, nhwc or free" : "nchw or nhwc"),
             "\"" + value + "\"");
    }
    return value;
  }
  void refuse_unused() const {
    for (const Item& item : items_) {
      if (!item.is_used) {
        refuse("only the keys and flags of its grammar, as in " + example_,
               "\"" + item.key + (item.has_value ? "=" + item.value : "") + "\"");
      }
    }
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
  }

  /// The depthwise convolution behind a convolution.
  void read_depthwise_behind(ConvParams& p) {
    if (find("depthwise") == nullptr) {
      return;
    }
    if (p.rank != 2) {
      refuse("convolutions of h and w with depthwise=", std::to_string(p.rank) + " axes");
    }
    if (p.has_pool || p.add || p.requant != ByteType::none) {
      refuse("no pooling, add or requant= with depthwise=", "one");
    }
    p.has_depthwise = true;
    per_axis("depthwise", 2, 1, p.behind.kernel);
    per_axis("dw_s", 2, 1, p.behind.stride);
    per_axis("dw_p", 2, 0, p.behind.pad);
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
    check_windows(p);
  }
  void check_windows(const PoolParams& p) const {
    for (std::size_t a = 0; a < 2; ++a) {
      if (p.pad[a] >= p.kernel[a]) {
        refuse("padding that is less than the kernel", std::to_string(p.pad[a]));
      }
      if (p.out_spatial(static_cast<int>(a)) <= 0) {
        refuse("an output that is not empty", "a kernel larger than the padded input");
      }
    }
  }

  std::vector<Item> items_;
};

}  // namespace detail

}  // namespace tensorsmith::ops
