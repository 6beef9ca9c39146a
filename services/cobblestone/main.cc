// cobblestone: one program, one verb for each thing that it does (commands/).
#include <sys/stat.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "common/base/descriptors.h"
#include "services/cli/version.h"
#include "services/cobblestone/commands/command.h"

namespace cobblestone {
namespace {

constexpr const char* kAbout =
    "Cobblestone: a project's events in, exact credit out, each grant explainable.\n";

constexpr const char* kFooter =
    "First steps:\n"
    "  cobblestone demo                                  real data, compared with BOINC's own numbers\n"
    "  cobblestone config --default > cobblestone.yaml   every option with its range and reason\n"
    "  cobblestone run --config cobblestone.yaml         the pipeline, until SIGTERM\n"
    "  cobblestone ingest events.jsonl --config cobblestone.yaml\n"
    "  cobblestone explain 4711 --config cobblestone.yaml\n"
    "\n"
    "A data directory is named by --config (data_directory in the file) or --data; it belongs to one\n"
    "process at a time. While `run` has it, everything else goes through its socket; else the verb opens\n"
    "it itself.\n"
    "\n"
    "Exit codes:\n"
    "   0  all is well\n"
    "   1  it worked, and something was found: lines refused, a number that differs\n"
    "   2  the command line, the configuration or the file that was named must be changed\n"
    "   3  there is no such result, account, file or directory\n"
    "   4  cannot be reached, or another process holds it: the same may work later\n"
    "   5  stored bytes are not what was written: see the message; nothing was changed\n"
    "  70  the program could not go on\n"
    "  74  the disk takes no more, or a write to the log failed; what was acknowledged is safe\n"
    "\n"
    "cobblestone VERB --help tells each verb's options and examples.";

// What no handler catches: memory or threads that are not to be had while threads are being started or ended. A core of that tells
// nobody anything; what was acknowledged is safe.
[[noreturn]] void EndOfMeans() {
  const char* why = "no more memory or threads were to be had";
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
  std::fprintf(stderr,
               "cobblestone: cannot go on: %s; see the limits of memory and processes (ulimit, cgroup)\n",
               why);
  std::_Exit(kExitInternal);
}

int Main(int argc, char** argv) {
  std::set_terminate(EndOfMeans);
  // State, log and sums hold texts of members. Statistics files have modes of their own (services/export).
  ::umask(077);
  // A client that goes away in the middle of an answer is no reason to end.
  std::signal(SIGPIPE, SIG_IGN);
  // A file that may not grow is a failed write, which is logged, and not a death.
  std::signal(SIGXFSZ, SIG_IGN);
  RaiseDescriptorLimit();
  Program program;
  CLI::App& app = program.app;
  app.description(kAbout);
  app.footer(kFooter);
  app.name("cobblestone");
  app.set_version_flag("--version", VersionText(kCommit), "version, commit, rules version and state version");
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  AddDemo(program);
  AddRun(program);
  AddIngest(program);
  AddAdopt(program);
  AddExplain(program);
  AddAccount(program);
  AddHostVersion(program);
  AddScales(program);
  AddRefused(program);
  AddTasks(program);
  AddTopics(program);
  AddVerify(program);
  AddRebuild(program);
  AddMigrate(program);
  AddBackup(program);
  AddRestore(program);
  AddAudit(program);
  AddReverse(program);
  AddReprice(program);
  AddReplay(program);
  AddExport(program);
  AddGateway(program);
  AddGenerate(program);
  AddConfig(program);
  // What CLI11 would say of a misspelt verb is that one is missing.
  const auto is_first = [&](const CLI::App* verb) { return verb->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_first).empty()) {
    return TellError(Status::InvalidArgument(std::string("there is no verb '") + argv[1] +
                                             "'; `cobblestone --help` lists them"));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help is one of these, too; its code is 0.
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  try {
    return program.chosen();
  } catch (const std::exception& error) {
    return TellError(Status::Fatal(std::string("unexpected: ") + error.what()));
  }
}

}  // namespace
}  // namespace cobblestone

int main(int argc, char** argv) { return cobblestone::Main(argc, argv); }
