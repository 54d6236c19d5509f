// SPDX-License-Identifier: Apache-2.0
// The part of workload strings that is made of keys with values and flags: "n=1,h=56,relu".
//
// Floor 3. Own design. Every key at most once, in any order; what nobody asks for is refused in the
// end. Not here: what the keys mean (ops/workload_reader.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/ops/workload_fields.hpp"

namespace tensorsmith::ops::detail {

class WorkloadItems : public WorkloadFields {
 protected:
  struct Item {
    std::string key, value;
    bool has_value = false, is_used = false;
  };

  explicit WorkloadItems(std::string_view text) : WorkloadFields(text) {}

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
  bool has_flag(const std::string& key) {
    for (Item& item : items_) {
      if (item.key == key && !item.has_value) {
        item.is_used = true;
        return true;
      }
    }
    return false;
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

  std::vector<Item> items_;
};

}  // namespace tensorsmith::ops::detail
