// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/tune.hpp"

#include <future>
#include <new>
#include <system_error>
#include <utility>

#include "tune/left_behind.hpp"
#include "tune/session.hpp"

namespace tensorsmith {
namespace {

TuneResult tuned(const TuneTask& task, const TuneOptions& options) {
  const double start = steady_seconds();
  check_arguments(task, options);
  TuneSession session(task, options);  // first, so that a misspelt option costs no time
  RunResources resources(options, task.target, start);
  double prepare_seconds = 0;
  std::future<void> preparing = std::async(std::launch::async, [&] {
    session.prepare_with_reference(resources.measurer());
    prepare_seconds = steady_seconds() - start;
  });
  session.limits().before_measuring = [&] {
    if (preparing.valid()) {  // else all went well, and the final ranking is the first to measure
      preparing.get();
    }
  };

  Driver& driver = session.start(resources);
  while (driver.run_round()) {
  }
  if (preparing.valid()) {
    preparing.get();  // nothing was measured; what went wrong is still to be said
  }
  TuneResult result = session.finish();
  result.summary.prepare_seconds = prepare_seconds;
  const std::string problem = resources.journal_problem(result.summary.is_cancelled);
  std::string& message = result.summary.message;
  message = problem.empty() || message.empty() ? problem + message : problem + "; " + message;
  return result;
}

}  // namespace

TuneResult tune(const TuneTask& task, const TuneOptions& options) {
  const ExitGuard guard;
  try {
    return tuned(task, options);
  } catch (const std::bad_alloc&) {
    throw Error("tune: no memory is left; choose smaller sizes, or fewer threads");
  } catch (const std::system_error& problem) {
    if (problem.code() != std::errc::resource_unavailable_try_again) {
      throw;
    }
    throw Error("tune: no thread could be started: a limit of processes (ulimit -u) is reached");
  }
}

}  // namespace tensorsmith
