// SPDX-License-Identifier: Apache-2.0
// requires: json
// Features as formulas over sizes against the reference's symbolic extraction of a tiled product:
// exact, and with divisions that leave fractions.
#include "tensorsmith/felix/symbolic_rows.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/golden_tasks.hpp"
#include "support/symbolic_product.hpp"

namespace tensorsmith::felix::test {

using namespace tensorsmith::test;

namespace {

/// M, N and K of the product that a task computes.
std::vector<double> extents_of_task(const std::string& id) {
  const ComputeDag& dag = *golden_task(id).dag;
  for (std::size_t o = 0; o < dag.operations().size(); ++o) {
    const Operation& op = dag.operation(o);
    if (op.axes.size() == 2 && op.reduce_axes.size() == 1) {
      return {static_cast<double>(op.axes[0].extent), static_cast<double>(op.axes[1].extent),
              static_cast<double>(op.reduce_axes[0].extent)};
    }
  }
  FAIL("no product");
  return {};
}

/// Divisions rounded down become divisions of reals; conditions stay.
std::vector<FormulaId> relaxed(FormulaPool& pool, const std::vector<FormulaId>& roots) {
  const std::size_t size = pool.size();
  std::vector<FormulaId> now(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    const FormulaNode node = pool[FormulaId{i}];
    now[i] = FormulaId{i};
    if (arity_of(node.op) > 0) {
      FormulaId args[3];
      for (std::size_t k = 0; k < arity_of(node.op); ++k) {
        args[k] = now[node.args[k]];
      }
      now[i] = fold(pool, node.op == Op::floordiv ? Op::div : node.op, args[0], args[1], args[2]);
    }
  }
  std::vector<FormulaId> found;
  for (const FormulaId root : roots) {
    found.push_back(now[root.value]);
  }
  return found;
}

std::vector<FormulaId> all_of(const SymbolicRows& rows) {
  std::vector<FormulaId> all;
  for (const std::vector<FormulaId>& row : rows.rows) {
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

/// Integer operations depend on how an index is written, of which the data say nothing.
bool is_compared(std::size_t feature) { return feature < 7 || feature > 13; }

}  // namespace

TEST_CASE("features of a symbolic product are the reference's", "[golden][felix]") {
  FormulaPool pool;
  const SymbolicProduct product(pool);
  const SymbolicRows rows = symbolic_rows(pool, product.nest);
  const std::vector<FormulaId> exact = all_of(rows), soft = relaxed(pool, exact);
  for (const GoldenFile& file : felix_files("symbolic_matmul.jsonl")) {
    ComparedRows compared(file.name);
    for (const Json& line : read_json_lines(file.path)) {
      INFO(line.at("task") << ", sample " << line.at("sample"));
      std::vector<double> at(pool.num_symbols(), 0);
      const std::vector<double> extents = extents_of_task(line.at("task"));
      const Json& config = line.at("config");
      for (std::uint32_t i = 0; i < at.size(); ++i) {
        const std::string& name = pool.name_of_symbol(i);
        if (name.rfind("sp_", 0) == 0) {
          at[i] = config.at(name).get<double>();
        } else if (name == "ur") {
          for (const auto& [key, value] : config.items()) {
            at[i] = key.rfind("ur_", 0) == 0 ? value.get<double>() : at[i];
          }
        } else if (name == "M" || name == "N" || name == "K") {
          at[i] = extents[name == "M" ? 0 : (name == "N" ? 1 : 2)];
        }
      }
      const std::vector<double> of_exact = evaluate(pool, exact, at);
      const std::vector<double> of_soft = evaluate(pool, soft, at);
      const SymbolicLimits& left = rows.limits;
      const Json& limits = line.at("limits");
      CHECK(evaluate(pool, left.threads, at) * evaluate(pool, left.vthreads, at) ==
            limits.at("threads_times_vthreads"));
      CHECK(evaluate(pool, left.shared_bytes, at) == limits.at("shared_bytes"));
      CHECK(evaluate(pool, left.local_bytes, at) == limits.at("local_bytes"));
      CHECK(evaluate(pool, left.vector_lengths, at) ==
            limits.at("vector_lengths").get<std::vector<double>>());
      REQUIRE(rows.rows.size() == line.at("stores").size());
      for (std::size_t r = 0; r < rows.rows.size(); ++r) {
        const std::string name = line.at("stores")[r];
        INFO(name);
        CHECK(product.nest.buffers[rows.tensors[r].value].name == name);
        for (std::size_t f = 0; f < felix_length; ++f) {
          if (is_compared(f)) {
            INFO(felix_name(f));
            CHECK(of_exact[r * felix_length + f] ==
                  Approx(line.at("exact")[r][f].get<double>()).epsilon(2e-7).margin(1e-7));
            CHECK(of_soft[r * felix_length + f] ==
                  Approx(line.at("relaxed")[r][f].get<double>()).epsilon(2e-7).margin(1e-7));
          }
        }
        ++compared;
      }
    }
  }
}

}  // namespace tensorsmith::felix::test
