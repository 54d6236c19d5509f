// SPDX-License-Identifier: Apache-2.0
// The check of a candidate with hard inputs.
//
// Part of session.hpp. The inputs change in the buffers of the task, which are not there twice, and
// are filled as before afterwards: few candidates come here.
#include <algorithm>
#include <cstring>

#include "measure/session_parts.hpp"
#include "session.hpp"
#include "tensorsmith/measure/hard_fill.hpp"

namespace tensorsmith {

/// null: the task's own inputs. Those that are the same in every draw stay.
void Session::fill_for(const HardDraw* draw) {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    Argument& argument = arguments_[i];
    if (argument.spec.is_output || !argument.is_drawn || argument.spec.fill.row_elements <= 0) {
      continue;
    }
    argument.buffer.make_writable();
    if (draw != nullptr) {
      fill_hard_input(task_, i, *draw, {}, argument.buffer.data());
    } else {
      fill_input(task_, i, argument.buffer.data());
    }
    argument.buffer.make_read_only();
  }
}

bool Session::is_right_for_hard_inputs(std::size_t slot, KernelEntry entry,
                                       const PrepackCode& prepack, const Operands& timed,
                                       std::int64_t timeout_ns, MeasureResult& result) {
  const std::size_t num_draws = count_hard_draws(arguments_);
  const auto read = [](const Argument& argument, std::span<const std::byte>& bytes) {
    bytes = argument.buffer.data();
    return true;
  };
  MeasureResult seen;
  seen.status = MeasureStatus::ok;
  for (std::size_t number = 0; seen.is_ok() && number < num_draws; ++number) {
    const HardDraw draw = hard_draw_of(arguments_, number);
    set_phase(WorkerPhase::check);
    fill_for(&draw);
    Operands operands;  // of these inputs: what is packed of them is another
    if (make_operands(slot, prepack, timeout_ns, operands, seen)) {
      poison();
      run(entry, operands.pointers, 1, timeout_ns);
      seen = check(false);
      if (seen.is_ok()) {
        verify_hard_outputs(arguments_, number, data_.bytes(), read, seen);
      }
    }
    note_fault_regions(timed);
  }
  if (num_draws > 0) {
    fill_for(nullptr);
  }
  if (!seen.is_ok()) {
    result = std::move(seen);
    result.is_verified = false;
  }
  return result.is_ok();
}

}  // namespace tensorsmith
