// SPDX-License-Identifier: Apache-2.0
// PartTimes: how long kernels take as parts of a larger call.
//
// Private to lib/tune. Own design. A trial calls a kernel on the same operands again and again.
// Parts find rows that follow each other: the operands that all rows share are where the part
// before left them, the rows themselves are not. Only verified kernels are run here.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "tensorsmith/measure/fill.hpp"
#include "tensorsmith/tune/backend.hpp"
#include "tensorsmith/tune/measure_task.hpp"
#include "tune/task_inputs.hpp"

namespace tensorsmith {

class PartTimes {
 public:
  /// `whole`: the task of the largest call, of `rows` rows of so many elements per argument.
  PartTimes(TuneTask whole, std::int64_t rows, std::vector<std::int64_t> row_elements)
      : whole_(std::move(whole)), rows_(rows), row_elements_(std::move(row_elements)) {}

  /// Nanoseconds of a kernel of `size` rows; as it was measured where no two of them fit, or where
  /// this process cannot call it.
  double of(const TuneResult& member, std::int64_t size) {
    const std::int64_t parts = rows_ / size;
    if (parts < 2 || !member.summary.is_verified ||
        !make_backend(member.task.target)->call_problem().empty()) {
      return member.summary.best_ns;
    }
    if (arrays_.empty()) {
      fill();
    }
    if (!runtime_) {
      runtime_.emplace(member.num_threads);
    }
    const Kernel kernel(member.signature, member.object, *runtime_);
    const auto sweep = [&] {
      std::vector<void*> pointers;
      for (AlignedBuffer<std::byte>& array : arrays_) {
        pointers.push_back(array.data());
      }
      const double begin = now_ns();
      for (std::int64_t part = 0; part < parts; ++part) {
        kernel.call_unchecked(pointers.data());
        for (std::size_t i = 0; i < pointers.size(); ++i) {
          pointers[i] = static_cast<std::byte*>(pointers[i]) +
                        size * row_elements_[i] * bytes_of(member.signature.parameters[i].dtype);
        }
      }
      return (now_ns() - begin) / static_cast<double>(parts);
    };
    constexpr std::size_t fewest = 7, most = 101;
    constexpr double enough_ns = 2e7;
    std::vector<double> samples;
    sweep();
    for (const double start = now_ns();
         samples.size() < fewest || (samples.size() < most && now_ns() - start < enough_ns);) {
      samples.push_back(sweep());
    }
    std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
    return samples[samples.size() / 2];
  }

 private:
  static double now_ns() {
    return std::chrono::duration<double, std::nano>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void fill() {
    MeasureTask task = make_measure_task(*whole_.dag, 1, 1);
    give_inputs(task, *whole_.dag, whole_.inputs);
    for (std::size_t i = 0; i < task.arguments.size(); ++i) {
      arrays_.emplace_back(static_cast<std::size_t>(task.arguments[i].num_bytes()));
      if (!task.arguments[i].is_output) {
        fill_input(task, i, {arrays_.back().data(), arrays_.back().size()});
      }
    }
  }

  TuneTask whole_;
  std::int64_t rows_;
  std::vector<std::int64_t> row_elements_;
  std::vector<AlignedBuffer<std::byte>> arrays_;  // by argument
  std::optional<Runtime> runtime_;
};

}  // namespace tensorsmith
