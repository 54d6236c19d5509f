// SPDX-License-Identifier: Apache-2.0
// Reader of tests/data/golden/ansor/tasks.json: programs of the Ansor reference as our ComputeDag.
//
// Test support. The file holds every operation as an expression tree, in stage order, and what the
// reference says about the program. Format: tests/data/golden/ansor/README.md.
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/golden_data.hpp"
#include "tensorsmith/ir/dtype_name.hpp"
#include "tensorsmith/te/compute_dag_build.hpp"

namespace tensorsmith::test {

struct GoldenTask {
  std::string id;
  Json facts;  // the whole object of the file
  Shared<const ComputeDag> dag;
};

namespace golden {

/// Makes the expressions of one operation.
class ExprReader {
 public:
  ExprReader(ExprPool& pool, const std::map<std::string, std::vector<TensorId>>& tensors,
             const std::vector<TensorInfo>& infos)
      : pool_(pool), tensors_(tensors), infos_(infos) {}

  VarId declare(const std::string& name, DType dtype = DType::i32) {
    return vars_[name] = pool_.new_var(name, dtype);
  }
  static DType dtype(const std::string& name) {
    const auto found = dtype_from_name(name);
    if (!found) {
      throw std::runtime_error("golden tasks: unknown dtype " + name);
    }
    return *found;
  }

  ExprId read(const Json& tree) {
    const std::string op = tree[0];
    if (op == "var") {
      return pool_.var(var(tree[1]));
    }
    if (op == "int") {
      return pool_.int_imm(tree[1].get<std::int64_t>(), dtype(tree[2]));
    }
    if (op == "float") {
      const double value =
          tree[1].is_string() ? std::stod(tree[1].get<std::string>()) : tree[1].get<double>();
      return pool_.float_imm(value, dtype(tree[2]));
    }
    if (op == "not") {
      return pool_.unary(UnaryOp::not_, read(tree[1]));
    }
    if (op == "cast") {
      return pool_.cast(dtype(tree[1]), read(tree[2]));
    }
    if (op == "select") {
      const ExprId condition = read(tree[1]), yes = read(tree[2]), no = read(tree[3]);
      return pool_.select(condition, yes, no);
    }
    if (op == "call") {
      return pool_.call(call(tree[1]), list(tree, 3));
    }
    if (op == "load") {
      const TensorId tensor = tensors_.at(tree[1]).at(tree[2].get<std::size_t>());
      return pool_.read(tensor, infos_[tensor.value].dtype, list(tree[3], 0));
    }
    const ExprId a = read(tree[1]), b = read(tree[2]);
    return pool_.binary(binary(op), a, b);
  }

  /// ["reduce", combiner, [[lhs], [rhs]], [identity], [source], [axes]] as the `output`-th body.
  ExprId read_reduce(const Json& tree, std::size_t output, const Json& dtypes) {
    if (!combiner_.valid()) {
      make_combiner(tree, dtypes);
    }
    // The file names one result per body; a multi-output reduction lists every result.
    Reduce reduce;
    reduce.combiner = combiner_;
    reduce.sources = list(tree[4], 0);
    for (const Json& axis : tree[5]) {
      reduce.axes.push_back(var(axis));
    }
    reduce.value_index = static_cast<std::uint32_t>(output);
    return pool_.reduce(std::move(reduce));
  }

 private:
  VarId var(const std::string& name) const { return vars_.at(name); }
  ExprList list(const Json& items, std::size_t first) {
    ExprList ids;
    for (std::size_t i = first; i < items.size(); ++i) {
      ids.push_back(read(items[i]));
    }
    return ids;
  }
  void make_combiner(const Json& tree, const Json& dtypes) {
    Combiner made;
    const auto outer = vars_;
    for (std::size_t i = 0; i < tree[2][0].size(); ++i) {
      made.lhs.push_back(declare(tree[2][0][i], dtype(dtypes[i])));
      made.rhs.push_back(declare(tree[2][1][i], dtype(dtypes[i])));
    }
    const bool several = tree[1].size() > 0 && tree[1][0].is_array();
    if (several) {
      made.results = list(tree[1], 0);
    } else {
      made.results.push_back(read(tree[1]));
    }
    made.identity = list(tree[3], 0);
    vars_ = outer;
    combiner_ = pool_.add_combiner(std::move(made));
  }
  static BinaryOp binary(const std::string& text) {
    for (int i = 0; i <= static_cast<int>(BinaryOp::or_); ++i) {
      if (text_of(static_cast<BinaryOp>(i)) == text) {
        return static_cast<BinaryOp>(i);
      }
    }
    throw std::runtime_error("golden tasks: unknown operator " + text);
  }
  /// By the reference's name, which is ours but for that of the absolute value.
  static CallOp call(const std::string& name) {
    if (name == "fabs") {
      return CallOp::abs;
    }
    for (int i = 0; i <= static_cast<int>(CallOp::if_then_else); ++i) {
      if (name_of(static_cast<CallOp>(i)) == name) {
        return static_cast<CallOp>(i);
      }
    }
    throw std::runtime_error("golden tasks: unknown call " + name);
  }

  ExprPool& pool_;
  const std::map<std::string, std::vector<TensorId>>& tensors_;
  const std::vector<TensorInfo>& infos_;
  std::map<std::string, VarId> vars_;
  CombinerId combiner_;
};

inline OperationAttrs read_attrs(const Json& json) {
  OperationAttrs attrs;
  const auto names = [&](const char* key, std::vector<std::string>& list) {
    if (json.contains(key)) {
      list = json[key].get<std::vector<std::string>>();
    }
  };
  names("layout_free_placeholders", attrs.layout_free_placeholders);
  names("auto_scheduler_simplify_const_tensor_indices", attrs.simplify_const_tensor_indices);
  names("auto_scheduler_always_unroll_inner", attrs.always_unroll_inner);
  names("auto_scheduler_no_split_at_inner", attrs.no_split_at_inner);
  if (json.contains("FLOP")) {
    attrs.flop = json["FLOP"].get<std::int64_t>();
  }
  attrs.const_matrix = json.contains("const_matrix") && json["const_matrix"].get<int>() != 0;
  if (json.contains("auto_scheduler_task_scheduler_tag")) {
    attrs.task_scheduler_tag = json["auto_scheduler_task_scheduler_tag"];
  }
  return attrs;
}

}  // namespace golden

/// The dag of a "definition" (operations in any order that defines before it reads) with the
/// arguments named by `arg_order`.
inline Shared<const ComputeDag> dag_from_definition(const Json& definition, const Json& arg_order) {
  auto pool = make_shared_of<ExprPool>();
  std::vector<TensorInfo> infos;
  std::vector<Operation> operations;
  std::map<std::string, std::vector<TensorId>> tensors;
  for (const Json& json : definition) {
    Operation op;
    op.name = json["name"];
    op.kind = json["kind"] == "placeholder" ? OperationKind::placeholder : OperationKind::compute;
    golden::ExprReader reader(*pool, tensors, infos);
    if (!op.is_placeholder()) {
      op.tag = json["tag"];
      op.attrs = golden::read_attrs(json["attrs"]);
      for (const auto& [key, axes] :
           {std::pair{"axis", &op.axes}, {"reduce_axis", &op.reduce_axes}}) {
        for (const Json& axis : json[key]) {
          axes->push_back({reader.declare(axis[0]), axis[2].get<std::int64_t>()});
        }
      }
      for (std::size_t k = 0; k < json["body"].size(); ++k) {
        const Json& body = json["body"][k];
        op.bodies.push_back(body[0] == "reduce" ? reader.read_reduce(body, k, json["dtype"])
                                                : reader.read(body));
      }
    }
    for (std::size_t k = 0; k < json["dtype"].size(); ++k) {
      TensorInfo info;
      info.name = json["dtype"].size() > 1 ? op.name + ".v" + std::to_string(k) : op.name;
      info.dtype = golden::ExprReader::dtype(json["dtype"][k]);
      for (const Json& extent : json["shape"]) {
        info.shape.push_back(extent.get<std::int64_t>());
      }
      op.outputs.push_back(TensorId{static_cast<std::uint32_t>(infos.size())});
      infos.push_back(std::move(info));
    }
    tensors[op.name].assign(op.outputs.begin(), op.outputs.end());
    operations.push_back(std::move(op));
  }
  std::vector<TensorId> arguments;
  for (const Json& name : arg_order) {
    arguments.push_back(tensors.at(name).at(0));
  }
  return make_shared_of<const ComputeDag>(
      te::build_compute_dag(std::move(pool), std::move(infos), operations, std::move(arguments)));
}

namespace golden {

inline std::vector<GoldenTask> read_tasks(const std::string& path) {
  std::vector<GoldenTask> list;
  for (const Json& json : Json::parse(read_text(path))) {
    list.push_back({json["id"], json, dag_from_definition(json["definition"], json["arg_order"])});
  }
  return list;
}
inline const GoldenTask& find_task(const std::vector<GoldenTask>& tasks, const std::string& id) {
  for (const GoldenTask& task : tasks) {
    if (task.id == id) {
      return task;
    }
  }
  throw std::runtime_error("no golden task " + id);
}

}  // namespace golden

/// All tasks of the folders' files, read once.
inline const std::vector<GoldenTask>& golden_tasks() {
  static const std::vector<GoldenTask> tasks = [] {
    std::vector<GoldenTask> all;
    for (const GoldenFile& file : golden_files("tasks.json")) {
      for (GoldenTask& task : golden::read_tasks(file.path)) {
        all.push_back(std::move(task));
      }
    }
    return all;
  }();
  return tasks;
}
inline const GoldenTask& golden_task(const std::string& id) {
  return golden::find_task(golden_tasks(), id);
}

/// Those of the project's first folder: for tests that name a task.
inline const std::vector<GoldenTask>& own_golden_tasks() {
  static const std::vector<GoldenTask> tasks = golden::read_tasks(own_golden_path("tasks.json"));
  return tasks;
}
inline const GoldenTask& own_golden_task(const std::string& id) {
  return golden::find_task(own_golden_tasks(), id);
}

}  // namespace tensorsmith::test
