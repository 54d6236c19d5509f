// SPDX-License-Identifier: Apache-2.0
// requires: json
// Loop nests of schedules with symbols for split lengths: at the lengths of the reference's CUDA
// programs every extent is the concrete one, and so are products of loops and what is allocated.
#include "tensorsmith/felix/symbolic_program.hpp"

#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/pruner_programs.hpp"
#include "tensorsmith/feature/felix_schedule.hpp"
#include "tensorsmith/felix/symbolic_rows.hpp"
#include "tensorsmith/sched/bounds.hpp"

namespace tensorsmith::felix::test {

using namespace tensorsmith::test;

namespace {

/// By symbol: the lengths that a schedule has.
std::vector<double> lengths_of(const FormulaPool& pool, const State& state) {
  std::map<std::string, double> known;
  for (const auto& [name, length] : felix_config(state.steps())) {
    known[name + ":k"] = static_cast<double>(length);
  }
  std::vector<double> at;
  for (std::uint32_t i = 0; i < pool.num_symbols(); ++i) {
    at.push_back(known.count(pool.name_of_symbol(i)) != 0 ? known[pool.name_of_symbol(i)] : 0);
  }
  return at;
}

void compare_extents(FormulaPool& pool, const SymbolicProgram& program, const State& state) {
  const std::vector<double> at = lengths_of(pool, state);
  for (std::size_t s = 0; s < state.num_stages(); ++s) {
    const auto& iterators = state.stage(s).iterators;
    INFO(state.operation(s).name);
    for (std::size_t i = 0; i < program.extents[s].size(); ++i) {
      INFO(iterators[i].name);
      CHECK(evaluate(pool, program.extents[s][i], at) ==
            static_cast<double>(iterators[i].extent.value_or(-1)));
    }
  }
}

/// Columns that do not depend on how an index is written, nor on loops of one iteration.
void compare_rows(FormulaPool& pool, const SymbolicProgram& program, const State& state,
                  const Json& line) {
  const std::vector<double> at = lengths_of(pool, state);
  const SymbolicRows rows = symbolic_rows(pool, program.nest);
  REQUIRE(rows.rows.size() == line.at("stores").size());
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    INFO(line.at("stores")[r]);
    CHECK(state.dag().tensor(rows.tensors[r]).name == line.at("stores")[r]);
    for (const std::size_t column :
         {felix_column(TailColumn::outer_prod), felix_column(TailColumn::alloc_size),
          felix_column(TailColumn::alloc_prod), felix_column(HeadColumn::block_idx_x_len),
          felix_column(HeadColumn::thread_idx_x_len), felix_column(HeadColumn::vthread_len)}) {
      INFO(felix_name(column));
      CHECK(evaluate(pool, rows.rows[r][column], at) ==
            Approx(line.at("features")[r][column].get<double>()).epsilon(1e-5).margin(1e-5));
    }
  }
}

}  // namespace

TEST_CASE("symbolic nests at the lengths of the reference's programs", "[golden][felix]") {
  constexpr int programs_of_task = 4;  // of one task they differ in lengths, not in form
  const PrunerPrograms programs("samples_cuda.jsonl");
  for (const GoldenFile& file : felix_files("features_cuda.jsonl")) {
    ComparedRows compared(file.name);
    compared.of("symbolic programs");
    std::map<std::string, int> seen;
    for (const Json& line : read_json_lines(file.path)) {
      const std::string task = line.at("task");
      if (line.at("ok").is_null() || seen[task] >= programs_of_task) {
        continue;
      }
      INFO(task << ", sample " << line.at("sample"));
      State state = programs.program(task, line.at("sample"));
      const auto counted = build_store_program(state);
      if (!counted || try_infer_bounds(state)) {
        continue;
      }
      FormulaPool pool;
      const auto program = symbolic_program(pool, state, *counted);
      if (!program || !program->is_exact) {
        continue;
      }
      ++seen[task];
      compare_extents(pool, *program, state);
      if (line.at("ok").get<bool>()) {
        compare_rows(pool, *program, state, line);
      }
      ++compared;
    }
  }
}

}  // namespace tensorsmith::felix::test
