// cobblestone: one program, one verb per task (services/commands).
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "common/base/descriptors.h"
#include "services/cli/version.h"
#include "services/commands/command.h"
#include "services/commands/trial/fleet.h"
#include "services/commands/trial/lab.h"

namespace cobblestone {

using cli::kCommit;
using cli::kExitInternal;
using cli::kExitOk;
using cli::kExitUsage;
using cli::Program;
using cli::VersionText;

namespace {

constexpr const char* kAbout =
    "Cobblestone computes exact, explainable credit from the events of a BOINC project.\n";

constexpr const char* kFooter =
    "First steps:\n"
    "  cobblestone demo                                  ingests a project's history and compares every grant "
    "with BOINC's\n"
    "  cobblestone config --default > cobblestone.yaml   every option with its default, range and reason\n"
    "  cobblestone run --config cobblestone.yaml         the pipeline, until SIGTERM\n"
    "  cobblestone ingest events.jsonl --config cobblestone.yaml\n"
    "  cobblestone explain 4711 --config cobblestone.yaml\n\n"
    "--config (data_directory in the file) or --data names the data directory. One process at a time owns a\n"
    "data directory. While `run` owns the directory, other verbs connect to the socket of `run`; otherwise a verb\n"
    "opens the directory itself.\n\n"
    "Exit codes:\n"
    "   0  success\n"
    "   1  completed with findings: refused lines or events, or numbers that differ\n"
    "   2  invalid command line, configuration or input file\n"
    "   3  the result, account, file or directory does not exist\n"
    "   4  not reachable, or locked by another process; a retry may succeed\n"
    "   5  stored data is corrupted; see the message; nothing was changed\n"
    "  70  internal error\n"
    "  74  the disk is full, or a write to the log failed; acknowledged data is safe\n\n"
    "cobblestone VERB --help shows the options and examples of a verb.";

// Handles exceptions that no handler catches: no memory or threads while threads are started or ended. A core
// dump would not help; acknowledged data is safe.
[[noreturn]] void EndOfMeans() {
  const char* why = "out of memory or threads";
  static char text[512];
  if (const std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
    } catch (const std::exception& error) {
      std::snprintf(text, sizeof text, "%s", error.what());
      why = text;
    } catch (...) {
    }
  }
  std::fprintf(
      stderr, "cobblestone: cannot continue: %s; check the limits of memory and processes (ulimit, cgroup)\n",
      why);
  std::_Exit(kExitInternal);
}

int Main(int argc, char** argv) {
  std::set_terminate(EndOfMeans);
  // State, log and sums contain texts of members. Statistics files have their own modes (services/export).
  ::umask(077);
  // A client that disconnects during a response must not end the program.
  std::signal(SIGPIPE, SIG_IGN);
  // Reaching the file size limit becomes a failed write, which is logged, instead of a crash.
  std::signal(SIGXFSZ, SIG_IGN);
  RaiseDescriptorLimit();
  CLI::App app;
  Program program(&app);
  app.description(kAbout);
  app.footer(kFooter);
  app.name("cobblestone");
  app.set_version_flag("--version", VersionText(kCommit), "version, commit, rules version and state version");
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  commands::AddDemo(program);
  commands::AddRun(program);
  commands::AddIngest(program);
  commands::AddAdopt(program);
  commands::AddExplain(program);
  commands::AddAccount(program);
  commands::AddHostVersion(program);
  commands::AddScales(program);
  commands::AddRefused(program);
  commands::AddTasks(program);
  commands::AddTopics(program);
  commands::AddVerify(program);
  commands::AddRebuild(program);
  commands::AddMigrate(program);
  commands::AddBackup(program);
  commands::AddRestore(program);
  commands::AddAudit(program);
  commands::AddReverse(program);
  commands::AddReprice(program);
  commands::AddReplay(program);
  commands::AddExport(program);
  commands::AddGateway(program);
  commands::AddGenerate(program);
  commands::AddFleet(program);
  commands::AddLab(program);
  commands::AddHub(program);
  commands::AddConfig(program);
  // For a misspelt verb CLI11 would report that a verb is missing.
  const auto is_first = [&](const CLI::App* verb) { return verb->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_first).empty()) {
    return commands::ReportError(Status::InvalidArgument(std::string("unknown verb '") + argv[1] +
                                                         "'; `cobblestone --help` lists the verbs"));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // A request for help is also a ParseError; its code is 0.
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  try {
    return program.chosen();
  } catch (const std::exception& error) {
    return commands::ReportError(Status::Fatal(std::string("unexpected: ") + error.what()));
  }
}

}  // namespace
}  // namespace cobblestone

int main(int argc, char** argv) { return cobblestone::Main(argc, argv); }
