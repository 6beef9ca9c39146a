#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/ledger/refusal.h"
#include "services/access/refusals.h"
#include "services/access/refused_question.h"
#include "services/cli/format.h"
#include "services/commands/command.h"

namespace cobblestone::commands {

using access::PrintRefusals;
using access::Refusals;
using access::RefusedSince;
using access::RefusedSoFar;
using cli::RefusedListText;
using cli::RefusedText;
using cli::ResubmitText;
using nlohmann::json;

namespace {

struct ListOptions {
  QueryOptions query;
  std::uint64_t from = 0;
  std::uint64_t limit = 20;
  std::optional<std::uint64_t> last;
  std::vector<std::string> reasons;
};

struct OneOptions {
  QueryOptions query;
  std::uint64_t number = 0;
};

struct ResubmitOptions {
  QueryOptions query;
  std::vector<std::string> numbers;
  std::vector<std::string> reasons;
  bool all = false;
  bool dry_run = false;
};

// Numbers from `from` to before `to`.
struct Range {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  bool one = false;  // a number, not a range
};

std::vector<std::string> ReasonNames() {
  std::vector<std::string> names;
  for (std::uint32_t n = 1; n <= wire::kLastRefusalReason; ++n) {
    const auto name = wire::RefusalReasonName(static_cast<wire::RefusalReason>(n));
    if (name != wire::RefusalReasonName(wire::RefusalReason::kUnknown)) names.emplace_back(name);
  }
  return names;
}

std::string Joined(const std::vector<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : ",") + reason;
  return text;
}

int List(const ListOptions& options) {
  access::Question question{.path = "/refused"};
  if (options.last) {
    question.parameters = {{"last", std::to_string(*options.last)}};
  } else {
    question.parameters = {{"from", std::to_string(options.from)}, {"limit", std::to_string(options.limit)}};
  }
  if (!options.reasons.empty()) question.parameters["reasons"] = Joined(options.reasons);
  return AskAndPrint(options.query, Purpose::kAsk, question, RefusedListText);
}

int Show(const OneOptions& options) {
  return AskAndPrint(options.query, Purpose::kAsk,
                     {.path = "/refused/show", .parameters = {{"offset", std::to_string(options.number)}}},
                     RefusedText);
}

// "7", "7-9" (both included), "7-" (to the end). InvalidArgument: neither.
Result<Range> RangeOf(const std::string& text, std::uint64_t end) {
  const char* const stop = text.data() + text.size();
  Range range;
  auto read = std::from_chars(text.data(), stop, range.from);
  if (read.ec == std::errc() && read.ptr == stop)
    return Range{.from = range.from, .to = range.from + 1, .one = true};
  bool good = read.ec == std::errc() && *read.ptr == '-';
  if (good && read.ptr + 1 == stop) {
    range.to = end;
  } else if (good) {
    read = std::from_chars(read.ptr + 1, stop, range.to);
    good = read.ec == std::errc() && read.ptr == stop && range.to >= range.from;
    ++range.to;
  }
  if (!good)
    return Status::InvalidArgument(
        "'" + text + "' is not the number of a refused record, and not a range such as 100-200 or 100-");
  return range;
}

// In ascending order, without a number in two of them. Numbers from `end` on are records that do not exist yet.
Result<std::vector<Range>> RangesOf(const ResubmitOptions& options, std::uint64_t end) {
  if (options.numbers.empty()) return std::vector<Range>{{.from = 0, .to = end}};
  std::vector<Range> ranges;
  for (const std::string& text : options.numbers) {
    auto range = RangeOf(text, end);
    if (!range.ok()) return range.status();
    ranges.push_back(*range);
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.from < b.from; });
  std::uint64_t done = 0;
  for (Range& range : ranges) {
    range.from = std::max(range.from, done);
    range.to = std::max(range.to, range.from);
    done = range.to;
  }
  return ranges;
}

// Answers of /refused/resubmit, added up.
struct Outcome {
  json resubmitted = json::array();
  json left = json::array();
  Refusals again;
};

Status SendRanges(Client& client, const ResubmitOptions& options, const std::vector<Range>& ranges,
                  std::uint64_t end, Outcome* outcome) {
  Progress progress("events", options.query.json);
  std::uint64_t all = 0;
  for (const Range& range : ranges) all += std::min(range.to, end) - std::min(range.from, end);
  std::uint64_t passed = 0;
  for (const Range& range : ranges) {
    const std::size_t before = outcome->resubmitted.size() + outcome->left.size();
    for (std::uint64_t at = range.from; at < std::min(range.to, end);) {
      access::Question question{
          .path = "/refused/resubmit",
          .parameters = {{"from", std::to_string(at)}, {"to", std::to_string(std::min(range.to, end))}}};
      if (!options.reasons.empty()) question.parameters["reasons"] = Joined(options.reasons);
      if (options.dry_run) question.parameters["dry_run"] = "1";
      auto answer = client.Ask(question);
      if (!answer.ok())
        return {answer.status().code(),
                "records from number " + std::to_string(at) + " on: " + answer.status().message() +
                    ". Earlier records were resubmitted; a second resubmission of an event "
                    "does not count it twice"};
      for (const char* part : {"resubmitted", "left"}) {
        json& to = part == std::string_view("left") ? outcome->left : outcome->resubmitted;
        for (json& one : (*answer)[part]) to.push_back(std::move(one));
      }
      const auto next = std::max(at + 1, answer->value("next", std::uint64_t{0}));
      passed += next - at;
      at = next;
      progress.Show({.done = passed, .all = all, .counted = outcome->resubmitted.size()});
    }
    if (range.one && range.to > range.from && options.reasons.empty() &&
        before == outcome->resubmitted.size() + outcome->left.size())
      outcome->left.push_back({{"number", range.from},
                               {"why", "unknown refused record " + std::to_string(range.from)},
                               {"unknown", true}});
  }
  return Status::Ok();
}

int Resubmit(const ResubmitOptions& options) {
  if (options.numbers.empty() && options.reasons.empty() && !options.all)
    return ReportError(Status::InvalidArgument(
        "name the refused records: numbers, ranges such as 100-200, --reason NAME or --all"));
  const auto settings = SettingsOf(options.query.place);
  if (!settings.ok()) return ReportError(settings.status());
  auto client = Client::Open(*settings, options.dry_run ? Purpose::kAsk : Purpose::kWork, ReportOpening);
  if (!client.ok()) return ReportError(client.status());
  const auto before = RefusedSoFar(**client);
  if (!before.ok()) return ReportError(before.status());
  const auto ranges = RangesOf(options, before->number);
  if (!ranges.ok()) return ReportError(ranges.status());
  Outcome outcome;
  Status status = SendRanges(**client, options, *ranges, before->number, &outcome);
  if (status.ok() && !options.dry_run) {
    status = (*client)->WaitIdle();
    if (status.ok()) {
      auto again = RefusedSince(**client, *before);
      status = again.status();
      if (again.ok()) outcome.again = std::move(*again);
    }
  }
  const Status closed = options.dry_run ? Status::Ok() : (*client)->Close();
  const json answer{{"dry_run", options.dry_run},
                    {"resubmitted", outcome.resubmitted},
                    {"left", outcome.left},
                    {"refused_again", outcome.again.total()},
                    {"refused_again_by_reason", outcome.again.by_reason}};
  if (options.query.json) {
    PrintJson(answer);
  } else {
    std::fputs(cli::TerminalLines(ResubmitText(answer)).c_str(), stdout);
    PrintRefusals(outcome.again);
  }
  if (!status.ok()) return ReportError(status);
  if (!closed.ok()) return ReportError(closed);
  const bool unknown = std::all_of(outcome.left.begin(), outcome.left.end(),
                                   [](const json& one) { return one.contains("unknown"); });
  if (outcome.resubmitted.empty() && !outcome.left.empty() && unknown)
    return ReportError(
        Status::NotFound("no refused record has this number; `cobblestone refused list` shows them"));
  return outcome.left.empty() && outcome.again.total() == 0 ? kExitOk : kExitProblems;
}

void AddReasons(Verb& part, std::vector<std::string>& reasons) {
  part.Add("--reason", reasons, "only records with this reason; may be repeated")
      .Type("NAME")
      .OneEach()
      .OneOf(ReasonNames());
}

}  // namespace

void AddRefused(Program& program) {
  Verb verb = program.root.Sub("refused", "Refused input: list, show, resubmit");
  verb.Footer(
      "A refused record contains the event, its source, and one reason from a fixed list (schemas/README.md).\n"
      "It omits texts of members (hosts, users, teams) and the bytes of lines that are not events, so that no\n"
      "texts of deleted members remain. Such a record cannot be resubmitted: send the event again. A refusal\n"
      "changes no credit.\n\n"
      "Examples:  cobblestone refused list --last 50\n"
      "           cobblestone refused list --from 1000 --limit 50 --reason UNKNOWN_APP\n"
      "           cobblestone refused show 1003\n"
      "           cobblestone refused resubmit 1003      after the missing event has been ingested\n"
      "           cobblestone refused resubmit --reason UNKNOWN_APP --dry-run");
  AddVerb<ListOptions>(
      program, verb, "list", "Lists refused records, one line each",
      [](Verb& part, ListOptions& options) {
        part.Add("--from", options.from, "first number").Type("N").ShowDefault();
        part.Add("--limit", options.limit, "maximum number of records").Type("N").ShowDefault();
        part.Add("--last", options.last, "the N newest records")
            .Type("N")
            .Excludes("--from")
            .Excludes("--limit");
        AddReasons(part, options.reasons);
        AddQueryOptions(part, options.query, false);
      },
      List);
  AddVerb<OneOptions>(
      program, verb, "show", "Shows one refused record in full",
      [](Verb& part, OneOptions& options) {
        part.Add("NUMBER", options.number, "number of the refused record, as shown by `refused list`")
            .Required();
        AddQueryOptions(part, options.query, false);
      },
      Show);
  Verb resubmit = AddVerb<ResubmitOptions>(
      program, verb, "resubmit", "Submits refused events again",
      [](Verb& part, ResubmitOptions& options) {
        part.Add("NUMBERS", options.numbers,
                 "numbers of refused records, as shown by `refused list`, and ranges: 17 100-200 300-");
        AddReasons(part, options.reasons);
        part.Flag("--all", options.all, "all refused records").Excludes("NUMBERS");
        part.Flag("--dry-run", options.dry_run, "list the events that would be submitted; submit nothing");
        AddQueryOptions(part, options.query, false);
      },
      Resubmit);
  resubmit.Footer(
      "Records that cannot be resubmitted are listed with the reason, and the others are submitted. If an event is\n"
      "refused again, the new refusal is at the end of the list. The records that were resubmitted remain in the\n"
      "list; an event that is submitted twice counts once. The exit code is 1 if a record was left or an event was\n"
      "refused again.\n\n"
      "Examples:  cobblestone refused resubmit 1003 1010-1020\n"
      "           cobblestone refused resubmit 1000- --reason UNKNOWN_HOST --reason UNKNOWN_APP\n"
      "           cobblestone refused resubmit --all --dry-run");
}

}  // namespace cobblestone::commands
