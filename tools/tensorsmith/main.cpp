// The `tensorsmith` command.
#include <cstdio>
#include <exception>

#include "command.hpp"
#include "tensorsmith/version.hpp"

namespace {

int run(int argc, char** argv) {
  using namespace tensorsmith;
  CLI::App app{"Tunes tensor programs for this machine.\n"
               "Example: tensorsmith tune gemm:512x512x512:f32 --seconds 20",
               "tensorsmith"};
  app.set_version_flag("--version", std::string(version_string));
  app.require_subcommand(1);
  cli::Action action;
  cli::add_tune(app, action);
  cli::add_run(app, action);
  cli::add_export(app, action);
  cli::add_explain(app, action);
  cli::add_devices(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // --help, --version
    }
    std::fprintf(stderr, "tensorsmith: %s; see tensorsmith --help\n", error.what());
    return cli::exit_wrong_input;
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const tensorsmith::Error& error) {
    std::fprintf(stderr, "tensorsmith: %s\n", error.what());
    return tensorsmith::cli::exit_wrong_input;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tensorsmith: %s\n", error.what());
    return tensorsmith::cli::exit_failed;
  }
}
