#include <cstdint>

#include "services/cli/format.h"
#include "services/commands/command.h"

namespace cobblestone::commands {

using access::Question;
using cli::HostVersionText;

namespace {

struct HostVersionArguments {
  QueryOptions query;
  std::uint64_t host = 0;
  std::int64_t version = 0;
  std::uint64_t app = 0;
};

int RunHostVersion(const HostVersionArguments& options) {
  Question question{.path = "/host-version",
                    .parameters = {{"project", std::to_string(options.query.project)},
                                   {"host", std::to_string(options.host)},
                                   {"version", std::to_string(options.version)}}};
  if (options.app != 0) question.parameters.emplace("app", std::to_string(options.app));
  return AskAndPrint(options.query, Purpose::kAsk, question, HostVersionText);
}

}  // namespace

void AddHostVersion(Program& program) {
  AddVerb<HostVersionArguments>(
      program, "host-version",
      "Shows the statistics of a host with an app version: speed, turnaround, reliability",
      [](Verb& verb, HostVersionArguments& options) {
        verb.Add("HOST", options.host, "number of the host").Required();
        verb.Add("VERSION", options.version,
                 "number of the app version; for the anonymous platform -2 CPU, -3 NVIDIA, -4 AMD, -5 "
                 "Intel, -6 Apple GPU")
            .Required();
        verb.Add("--app", options.app, "number of the app; required for the anonymous platform").Type("A");
        AddQueryOptions(verb, options.query);
        verb.Footer(
            "Examples:  cobblestone host-version 17 4\n"
            "           cobblestone host-version 17 --app 1 -- -2");
      },
      RunHostVersion);
}

}  // namespace cobblestone::commands
