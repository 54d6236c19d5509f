// SPDX-License-Identifier: Apache-2.0
// TrainingSet: what a learned model keeps of the programs that were measured, and how it compares
// them.
//
// Private to lib/cost.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "tensorsmith/cost/ranking.hpp"

namespace tensorsmith {

/// `Inputs`: what the model reads of one program.
template <class Inputs>
class TrainingSet {
 public:
  struct Sample {
    Inputs inputs;
    std::uint32_t task = 0;
    double throughput = 0;
  };

  /// read(features, inputs) answers whether a program is usable; the latest `most` stay. False if
  /// none of them was.
  template <class Read>
  bool add(std::span<const TrainingSample> added, std::size_t most, const Read& read) {
    bool is_any_usable = false;
    for (const TrainingSample& sample : added) {
      Sample made;
      if (read(sample.features, made.inputs)) {
        is_any_usable = true;
        made.task = sample.task;
        made.throughput = std::isfinite(sample.throughput) ? sample.throughput : 0.0;
        double& best = best_of_task_[sample.task];
        best = std::max(best, made.throughput);
        samples_.push_back(std::move(made));
      }
    }
    if (samples_.size() > most) {
      samples_.erase(samples_.begin(), samples_.end() - static_cast<std::ptrdiff_t>(most));
    }
    return is_any_usable;
  }
  void clear() {
    samples_.clear();
    best_of_task_.clear();
  }

  std::size_t size() const { return samples_.size(); }
  const Sample& operator[](std::size_t i) const { return samples_[i]; }
  auto begin() const { return samples_.begin(); }
  auto end() const { return samples_.end(); }

  /// Whether two programs of one task differ: otherwise there is nothing to learn from.
  bool has_pairs() const {
    std::map<std::uint32_t, double> first;
    return std::any_of(samples_.begin(), samples_.end(), [&](const Sample& sample) {
      return first.emplace(sample.task, sample.throughput).first->second != sample.throughput;
    });
  }

  /// The sum of loss(scores, labels, gradient) over lists of the chosen programs, one per task or
  /// one of all, and its slope by each score. Labels are shares of the best throughput of a task.
  template <class Vector, class Loss>
  double loss_of_lists(std::span<const std::uint32_t> chosen, bool is_one_list,
                       const Vector& scores, Vector& slope, const Loss& loss) const {
    std::map<std::uint32_t, std::vector<std::uint32_t>> lists;
    for (std::uint32_t p = 0; p < chosen.size(); ++p) {
      lists[is_one_list ? 0 : samples_[chosen[p]].task].push_back(p);
    }
    slope = Vector::Zero(scores.size());
    double sum = 0;
    for (const auto& [task, members] : lists) {
      std::vector<float> of_list, labels, gradient(members.size());
      for (const std::uint32_t p : members) {
        const Sample& sample = samples_[chosen[p]];
        of_list.push_back(scores[p]);
        labels.push_back(normalized_throughput(sample.throughput, best_of_task_.at(sample.task)));
      }
      sum += loss(of_list, labels, gradient);
      for (std::size_t k = 0; k < members.size(); ++k) {
        slope[members[k]] = gradient[k];
      }
    }
    return sum;
  }

 private:
  std::vector<Sample> samples_;
  std::map<std::uint32_t, double> best_of_task_;
};

}  // namespace tensorsmith
