// SPDX-License-Identifier: Apache-2.0
// WorkloadRegistry: from a workload key back to the program that it names.
//
// Floor 6. Ansor reference, ch. 1.4: keys of functions with arguments, `["matmul", 512, 512, 512]`,
// and keys of programs, `["<hash>", [512, 512], ...]`. A record holds nothing but the key, so
// whoever replays one registers what it may name. Not here: reading logs (ansor_log.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/record/ansor_history.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/te/workload_key.hpp"

namespace tensorsmith {

/// The key of a program whose placeholders were called otherwise, argument by argument: those of
/// networks may share one name ("placeholder"), which te::Program refuses, and the hash is over
/// names.
inline std::string network_workload_key(const ComputeDag& dag,
                                        const std::vector<std::string>& placeholders) {
  std::vector<Operation> operations = dag.operations();
  std::size_t next = 0;
  for (const TensorId argument : dag.arguments()) {
    Operation& operation = operations[dag.tensor(argument).operation];
    if (operation.is_placeholder() && next < placeholders.size()) {
      operation.name = placeholders[next++];
    }
  }
  std::vector<TensorInfo> tensors = dag.tensors();
  return te::workload_key(
      ComputeDag(dag.pool_ptr(), std::move(tensors), std::move(operations), dag.arguments()));
}

/// Makes the program of a function's arguments. Throws Error if they describe none.
using WorkloadFunction =
    Callback<Shared<const ComputeDag>(const std::vector<std::int64_t>& arguments)>;
/// The same of arguments of which some are text or flags: `["pool", "avg", 8, 8, true]`.
using KeyFunction =
    Callback<Shared<const ComputeDag>(const std::vector<WorkloadArgument>& arguments)>;

class WorkloadRegistry {
 public:
  /// A later function of the same name takes the place of the earlier one.
  void add_function(std::string name, WorkloadFunction function) {
    add_key_function(std::move(name),
                     [function = std::move(function)](const std::vector<WorkloadArgument>& all) {
                       std::vector<std::int64_t> numbers;
                       for (const WorkloadArgument& argument : all) {
                         if (!argument.is_integer) {
                           throw Error("an argument of this workload is no integer");
                         }
                         numbers.push_back(argument.value);
                       }
                       return function(numbers);
                     });
  }
  void add_key_function(std::string name, KeyFunction function) {
    functions_.emplace_back(std::move(name), std::move(function));
  }
  /// Found under its own key, or under one that a log has for it.
  void add_program(Shared<const ComputeDag> dag) {
    std::string key = te::workload_key(*dag);
    add_program(std::move(key), std::move(dag));
  }
  void add_program(std::string key, Shared<const ComputeDag> dag) {
    programs_.emplace_back(std::move(key), std::move(dag));
  }

  /// Nothing (a null pointer) if the key names no program, or one that cannot be made.
  Shared<const ComputeDag> find(std::string_view key) const {
    for (std::size_t i = programs_.size(); i-- > 0;) {
      if (programs_[i].first == key) {
        return programs_[i].second;
      }
    }
    const DecodedKey decoded = decode_workload_key(key);
    for (std::size_t i = programs_.size(); i-- > 0;) {
      // TenSet's keys have the shapes in one list: ["hash", 512, 512, 512, 512, 512, 512].
      const DecodedKey own = decode_workload_key(programs_[i].first);
      if (own.name == decoded.name && own.args == decoded.args) {
        return programs_[i].second;
      }
    }
    for (std::size_t i = functions_.size(); i-- > 0;) {
      if (functions_[i].first == decoded.name) {
        try {
          return functions_[i].second(decoded.args);
        } catch (const Error&) {
          return {};
        }
      }
    }
    return {};
  }

 private:
  std::vector<std::pair<std::string, KeyFunction>> functions_;
  std::vector<std::pair<std::string, Shared<const ComputeDag>>> programs_;
};

/// The functions that published logs name:
///     ["matmul", N, M, K]   ["conv2d_nhwc", N, H, W, CI, CO, K, stride, pad]
///     ["depthwise_nhwc", N, H, W, C, K, stride, pad]
inline WorkloadRegistry common_workloads() {
  const auto of_text = [](std::string_view form, std::size_t num_arguments) {
    // `form`: "gemm:#x#x#:f32", each '#' one argument in turn.
    return [form = std::string(form), num_arguments](const std::vector<std::int64_t>& arguments) {
      if (arguments.size() != num_arguments) {
        throw Error("a workload of " + std::to_string(num_arguments) + " arguments has " +
                    std::to_string(arguments.size()));
      }
      std::string text;
      std::size_t next = 0;
      for (const char c : form) {
        text += c == '#' ? std::to_string(arguments[next++]) : std::string(1, c);
      }
      const Result<ops::Workload, std::string> made = ops::parse_workload(text);
      if (!made) {
        throw Error(made.error());
      }
      return made->dag;
    };
  };
  WorkloadRegistry registry;
  registry.add_function("matmul", of_text("gemm:#x#x#:f32", 3));
  registry.add_function("conv2d_nhwc", of_text("conv2d:n=#,h=#,w=#,ci=#,co=#,k=#,s=#,p=#", 8));
  registry.add_function("depthwise_nhwc", of_text("depthwise:n=#,h=#,w=#,c=#,k=#,s=#,p=#", 7));
  return registry;
}

}  // namespace tensorsmith
