// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/record/record.hpp"

#include <unordered_map>

namespace tensorsmith {

std::string too_many_steps(const std::vector<Step>& steps) {
  if (steps.size() <= most_stage_steps) {
    return "";
  }
  std::unordered_map<std::int32_t, std::size_t> of_stage;
  for (const Step& step : steps) {
    if (++of_stage[stage_of(step)] > most_stage_steps) {
      return "more than " + std::to_string(most_stage_steps) + " steps of stage " +
             std::to_string(stage_of(step));
    }
  }
  return steps.size() > most_record_steps
             ? "more than " + std::to_string(most_record_steps) + " steps"
             : "";
}

}  // namespace tensorsmith
