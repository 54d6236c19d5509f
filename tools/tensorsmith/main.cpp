// SPDX-License-Identifier: Apache-2.0
// The `tensorsmith` command.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>

#include <fcntl.h>
#include <unistd.h>

#include "command.hpp"
#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/tune.hpp"
#include "tensorsmith/version.hpp"

namespace tensorsmith::cli {
namespace {

/// A journal must never get the number of a standard stream that the caller has closed. What is
/// opened instead cannot be written, so that lost output is noticed.
void open_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) < 0 && errno == EBADF) {
      (void)::open("/dev/null", O_RDONLY);  // gets the lowest free number
    }
  }
}

/// What CLI11 calls missing is often a misspelt command.
std::string parse_problem(const CLI::App& app, const CLI::ParseError& error, int argc,
                          char** argv) {
  if (!app.get_subcommands().empty()) {
    return error.what();
  }
  std::string known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] != '-') {
      return std::string("unknown command \"") + argv[i] + "\"; known: " + known;
    }
  }
  return "name a command: " + known;
}

/// "[]" in --help says nothing.
void hide_empty_lists(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_default_str() == "[]") {
      option->default_str("");
    }
  }
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    hide_empty_lists(*command);
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Tunes tensor programs for this machine.\n"
               "Example: tensorsmith tune gemm:512x512x512:f32 --seconds 20\n"
               "Exit codes: 0 done, 1 no usable result, 2 wrong input, 128 and the number of the\n"
               "signal (130 for Ctrl-C) interrupted without a result",
               "tensorsmith"};
  app.set_version_flag("--version", std::string(version_string));
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default();  // --help says what holds if nothing is said
  Action action;
  add_tune(app, action);
  add_run(app, action);
  add_export(app, action);
  add_explain(app, action);
  add_report(app, action);
  add_records(app, action);
  add_devices(app, action);
  add_expand(app, action);
  add_network(app, action);
  add_dataset(app, action);
  hide_empty_lists(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // --help, --version
    }
    warn(parse_problem(app, error, argc, argv) + "; see tensorsmith --help");
    return exit_wrong_input;
  }
  return action();
}

int run_and_explain(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const InternalError& error) {
    warn(error.what());
    return exit_failed;
  } catch (const Error& error) {
    warn(error.what());
    return exit_wrong_input;
  } catch (const std::filesystem::filesystem_error& error) {
    warn("cannot use \"" + error.path1().string() + "\": " + error.code().message());
    return exit_wrong_input;
  } catch (const std::system_error& error) {
    const bool is_thread = error.code() == std::errc::resource_unavailable_try_again;
    warn(is_thread ? "no thread could be started: a limit of processes (ulimit -u) is reached"
                   : "the system refused something: " + error.code().message());
    return exit_failed;
  } catch (const std::bad_alloc&) {
    warn("not enough memory; choose smaller sizes");
    return exit_wrong_input;
  } catch (const std::exception& error) {
    warn(error.what());
    return exit_failed;
  }
}

}  // namespace
}  // namespace tensorsmith::cli

int main(int argc, char** argv) {
  using namespace tensorsmith::cli;
  open_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a full journal is an error to report, not an end
  int code = run_and_explain(argc, argv);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    warn("cannot write standard output");
    code = code == exit_ok ? exit_failed : code;
  }
  tensorsmith::end_if_work_is_left(code);
  return code;
}
