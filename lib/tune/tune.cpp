#include "tensorsmith/tune.hpp"

#include <utility>

#include "tune/session.hpp"

namespace tensorsmith {

TuneResult tune(const TuneTask& task, const TuneOptions& options) {
  const double start = steady_seconds();
  check_arguments(task, options);
  TuneSession session(task, options);  // first, so that a misspelt option costs no time
  RunResources resources(options, task.target);
  session.add_reference_result();
  session.prepare(resources.measurer());
  const double prepare_seconds = steady_seconds() - start;

  Driver& driver = session.start(resources, start);
  while (driver.run_round()) {
  }
  TuneResult result = session.finish();
  result.summary.prepare_seconds = prepare_seconds;
  if (result.summary.message.empty()) {
    result.summary.message = resources.journal_problem();
  }
  return result;
}

}  // namespace tensorsmith
