#include <cstdint>

#include "services/cli/format.h"
#include "services/cobblestone/commands/command.h"

namespace cobblestone {
namespace {

struct ListOptions {
  QueryOptions query;
  std::uint64_t from = 0;
  std::uint64_t limit = 20;
};

struct OneOptions {
  QueryOptions query;
  std::uint64_t number = 0;
};

int List(const ListOptions& options) {
  return AskAndPrint(
      options.query, Purpose::kAsk,
      {.path = "/refused",
       .parameters = {{"from", std::to_string(options.from)}, {"limit", std::to_string(options.limit)}}},
      RefusedListText);
}

int Show(const OneOptions& options) {
  return AskAndPrint(options.query, Purpose::kAsk,
                     {.path = "/refused/show", .parameters = {{"offset", std::to_string(options.number)}}},
                     RefusedText);
}

int Resubmit(const OneOptions& options) {
  return AskAndPrint(
      options.query, Purpose::kWork,
      {.path = "/refused/resubmit", .parameters = {{"offset", std::to_string(options.number)}}},
      [&](const nlohmann::json&) {
        return "refused record " + std::to_string(options.number) +
               " was resubmitted; if the event is refused again, the new refusal is at the end of "
               "`cobblestone refused list`\n";
      });
}

template <class Options>
void AddPart(Program& program, CLI::App& verb, const std::string& name, const std::string& what,
             const std::function<void(CLI::App&, Options&)>& add, int (*run)(const Options&)) {
  CLI::App* part = verb.add_subcommand(name, what);
  const auto options = std::make_shared<Options>();
  add(*part, *options);
  part->callback([&program, options, run] { program.chosen = [options, run] { return run(*options); }; });
}

void AddNumber(CLI::App& part, OneOptions& options) {
  part.add_option("NUMBER", options.number, "number of the refused record, as shown by `refused list`")
      ->required();
  AddQueryOptions(part, options.query, false);
}

}  // namespace

void AddRefused(Program& program) {
  CLI::App* verb = program.app.add_subcommand("refused", "Refused input: list, show, resubmit");
  verb->require_subcommand(1);
  verb->footer(
      "A refused record keeps the event, its source, and one reason from a fixed list (schemas/README.md).\n"
      "Texts of members (hosts, users, teams) and the bytes of lines that are not events are not kept, so that\n"
      "no data of deleted members remains. Such a record cannot be resubmitted: send the event again. A refusal\n"
      "changes no credit.\n\n"
      "Examples:  cobblestone refused list --from 1000 --limit 50\n"
      "           cobblestone refused show 1003\n"
      "           cobblestone refused resubmit 1003      when the missing event has been ingested");
  AddPart<ListOptions>(
      program, *verb, "list", "Lists refused records, one line each",
      [](CLI::App& part, ListOptions& options) {
        part.add_option("--from", options.from, "first number")->type_name("N")->capture_default_str();
        part.add_option("--limit", options.limit, "maximum number of records")
            ->type_name("N")
            ->capture_default_str();
        AddQueryOptions(part, options.query, false);
      },
      List);
  AddPart<OneOptions>(program, *verb, "show", "Shows one refused record in full", AddNumber, Show);
  AddPart<OneOptions>(program, *verb, "resubmit", "Submits a refused event again", AddNumber, Resubmit);
}

}  // namespace cobblestone
