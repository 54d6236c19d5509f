// SPDX-License-Identifier: Apache-2.0
// Programs of tests/data/golden/pruner and what is extracted of them.
//
// Test support. A line of that data names task and sample of the Ansor reference's programs, whose
// records are in the folder ansor/ beside it.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/golden_tasks.hpp"
#include "tensorsmith/feature/access_sequence.hpp"
#include "tensorsmith/feature/build_store_program.hpp"
#include "tensorsmith/feature/pam_rows.hpp"
#include "tensorsmith/feature/psa_rows.hpp"
#include "tensorsmith/record/ansor_log.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::test {

struct PrunerFeatures {
  FeatureBlock psa{psa_schema(), 0, {}};
  PamRows pam;
  std::string digits;
};

inline FeatureBlock psa_of(const State& state) {
  FeatureBlock rows{psa_schema(), 0, {}};
  (void)psa_block().extract(state, FeatureContext(), rows);
  return rows;
}

inline PrunerFeatures pruner_features(const State& state) {
  const ProgramView view(state);
  const FeatureContext context;
  PrunerFeatures features;
  (void)psa_block().extract(view, context, features.psa);
  features.pam = view.part<pam_rows_of>(context);
  const auto stores = build_store_program(state);
  features.digits = stores ? access_digits(*stores, [](TensorId) { return false; }) : "";
  return features;
}

/// Replayed; throws if the record does not fit.
inline State replayed(const State& initial, const std::string& line) {
  const auto record = ansor_record_from_line(line);
  if (!record) {
    throw std::runtime_error("not a record: " + line);
  }
  auto state = replay(initial, record->steps);
  if (!state) {
    throw std::runtime_error("does not replay: " + line);
  }
  return std::move(state).value();
}

/// The programs that the lines of one file of features name.
class PrunerPrograms {
 public:
  /// `samples`: the Ansor reference's file of the same programs.
  explicit PrunerPrograms(const std::string& samples) {
    for (const GoldenFile& one : golden_files(samples)) {
      for (const Json& line : read_json_lines(one.path)) {
        records_[key(line.at("task"), line.at("sample"))] = line.at("record").get<std::string>();
      }
    }
  }
  State program(const std::string& task, int sample) const {
    auto found = initial_.find(task);
    if (found == initial_.end()) {
      found = initial_.emplace(task, State::initial(golden_task(task).dag)).first;
    }
    return replayed(found->second, records_.at(key(task, sample)));
  }

 private:
  static std::string key(const std::string& task, int sample) {
    return task + ", sample " + std::to_string(sample);
  }
  std::map<std::string, std::string> records_;
  mutable std::map<std::string, State> initial_;
};

/// A case of spec_cases.json: a product of matrices, "args" its rows, columns and terms per sum.
inline State tiled_product(const Json& one) {
  const auto lengths = one.at("args").get<std::vector<std::int64_t>>();
  te::Program p;
  auto A = p.placeholder("A", {lengths[0], lengths[2]}, DType::f32);
  auto B = p.placeholder("B", {lengths[2], lengths[1]}, DType::f32);
  auto k = p.reduce_axis("k", lengths[2]);
  auto C = p.compute("C", {lengths[0], lengths[1]},
                     [&](auto i, auto j) { return te::sum(A(i, k) * B(k, j), {k}); });
  return replayed(State::initial(p.dag({A, B, C})), one.at("record").get<std::string>());
}

}  // namespace tensorsmith::test
