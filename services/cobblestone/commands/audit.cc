#include <cstdio>
#include <nlohmann/json.hpp>

#include "services/cli/format.h"
#include "services/cli/progress.h"
#include "services/cli/terminal_text.h"
#include "services/cobblestone/commands/command.h"

namespace cobblestone {
namespace {

struct Options {
  QueryOptions query;
};

int Run(const Options& options) {
  const auto settings = SettingsOf(options.query.place);
  if (!settings.ok()) return TellError(settings.status());
  auto client = Client::Open(*settings, Purpose::kAsk, TellOpening);
  if (!client.ok()) return TellError(client.status());
  Progress progress("records", options.query.json);
  auto answer = (*client)->AskLong({.path = "/audit"}, [&](std::uint64_t done, std::uint64_t all) {
    progress.Show({.done = done, .all = all, .counted = done});
  });
  progress.Finish();
  if (!answer.ok()) return TellError(answer.status());
  if (options.query.json) {
    PrintJson(*answer);
  } else {
    std::fputs(TerminalLines(AuditText(*answer)).c_str(), stdout);
  }
  const auto problems = answer->find("problems");
  return problems != answer->end() && problems->empty() ? kExitOk : kExitProblems;
}

}  // namespace

void AddAudit(Program& program) {
  AddVerb<Options>(
      program, "audit", "Recomputes every grant and every total from the ledger, and compares the results",
      [](Verb& verb, Options& options) {
        AddQueryOptions(verb, options.query, false);
        verb.Footer(
            "Prints a list of the checks. Exit code 1: at least one number differs, even by one micro-credit.");
      },
      Run);
}

}  // namespace cobblestone
