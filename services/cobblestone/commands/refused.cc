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
               " was given to the pipeline once more; if it is refused again, it is at the end of "
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
  part.add_option("NUMBER", options.number, "the refused record's number, as `refused list` shows it")
      ->required();
  AddQueryOptions(part, options.query, false);
}

}  // namespace

void AddRefused(Program& program) {
  CLI::App* verb = program.app.add_subcommand("refused", "Refused input: list, show, resubmit");
  verb->require_subcommand(1);
  verb->footer(
      "Each refusal keeps the event, where it came from, and one reason out of a fixed list\n"
      "(schemas/README.md); of members (hosts, users, teams) no texts, and of what is no event nothing,\n"
      "so that nothing is left of who was deleted. Such a record cannot be resubmitted: send the event\n"
      "again. Nothing else happens to any number.\n\n"
      "Examples:  cobblestone refused list --from 1000 --limit 50\n"
      "           cobblestone refused show 1003\n"
      "           cobblestone refused resubmit 1003      after what was missing has come");
  AddPart<ListOptions>(
      program, *verb, "list", "Lists refused records, one line each",
      [](CLI::App& part, ListOptions& options) {
        part.add_option("--from", options.from, "start at this number")
            ->type_name("N")
            ->capture_default_str();
        part.add_option("--limit", options.limit, "at most so many")->type_name("N")->capture_default_str();
        AddQueryOptions(part, options.query, false);
      },
      List);
  AddPart<OneOptions>(program, *verb, "show", "Shows one refused record in full", AddNumber, Show);
  AddPart<OneOptions>(program, *verb, "resubmit", "Submits a refused event again", AddNumber, Resubmit);
}

}  // namespace cobblestone
