// `reverse`, `reinstate` and `reprice`: print their effects as a table; with --yes they send their events, as
// `ingest` sends a file.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/access/append_codec.h"
#include "services/access/correction_question.h"
#include "services/access/ingest.h"
#include "services/access/refusals.h"
#include "services/cli/correction_plan_text.h"
#include "services/commands/command.h"

namespace cobblestone::commands {

using access::HashText;
using access::Ingest;
using access::IngestOptions;
using access::IngestPoint;
using access::IngestSummary;
using access::PrintRefusals;
using access::QuestionOf;
using access::Refusals;
using access::RefusalsJson;
using access::RefusedSince;
using access::RefusedSoFar;
using cli::CorrectionLosses;
using cli::CorrectionPlanText;
using corrections::CorrectionRequest;
using corrections::TargetKind;
using events::EventFormat;
using events::EventItem;
using events::EventStream;
using intake::ChainLine;

namespace {

using nlohmann::json;

struct ReverseArguments {
  QueryOptions query;
  std::optional<std::uint64_t> result;
  std::optional<std::uint64_t> host;
  std::optional<std::uint64_t> workunit;
  std::optional<std::int64_t> app_version;
  std::optional<double> since;
  std::optional<double> until;
  std::uint32_t policy_version = 0;
  bool reinstates = false;
  bool judged_invalid = false;
  std::optional<double> credit;
  std::string reason;
  bool yes = false;
};

Result<CorrectionRequest> RequestOf(const ReverseArguments& options, const settings::RunSettings& settings) {
  CorrectionRequest request{.project = ProjectId(options.query.project),
                            .policy_version = options.policy_version,
                            .reinstates = options.reinstates,
                            .judged_invalid = options.judged_invalid,
                            .credit = options.credit,
                            .reason = options.reason};
  int targets = 0;
  const auto target = [&](const auto& given, TargetKind kind) {
    if (!given) return;
    ++targets;
    request.target = kind;
    request.id = static_cast<std::int64_t>(*given);
  };
  target(options.result, TargetKind::kResult);
  target(options.host, TargetKind::kHost);
  target(options.workunit, TargetKind::kWorkunit);
  target(options.app_version, TargetKind::kAppVersion);
  if (targets != 1)
    return Status::InvalidArgument("set exactly one of --result, --host, --workunit, --app-version");
  if (options.since) request.since = *options.since;
  if (options.until) request.until = *options.until;
  // With `ticks: input` the time is that of the newest award.
  if (settings.ticks == settings::Ticks::kWall)
    request.time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return request;
}

// The events of a plan, for Ingest().
class Events final : public EventStream {
 public:
  explicit Events(const json& plan) {
    std::string last;  // rows of one event are adjacent
    for (const json& row : plan.at("corrections")) {
      if (row.at("event") == last) continue;
      last = row.at("event");
      const auto& hex = row.at("event").get_ref<const std::string&>();
      std::string& bytes = envelopes_.emplace_back();
      for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
  }
  // A plan that is sent again because some of its events were refused gets a new name; ids identify the
  // events that are already there.
  [[nodiscard]] std::string Name(std::uint64_t refused_before) const {
    stream::Hash128 hash;
    for (const std::string& one : envelopes_) hash = ChainLine(hash, one);
    return "corrections " + HashText(hash) + " after " + std::to_string(refused_before) + " refused";
  }
  Status ForEach(const std::function<Status(const EventItem&)>& take) override {
    for (const std::string& one : envelopes_) {
      if (Status s = take({.envelope = one, .raw = one, .problem = {}, .line = taken_}); !s.ok()) return s;
      ++taken_;
    }
    return Status::Ok();
  }
  [[nodiscard]] EventFormat format() const override { return EventFormat::kDelimited; }
  [[nodiscard]] bool has_own_ticks() const override { return true; }
  [[nodiscard]] std::uint64_t bytes_read() const override { return taken_; }
  [[nodiscard]] std::uint64_t bytes_total() const override { return envelopes_.size(); }

 private:
  std::vector<std::string> envelopes_;
  std::uint64_t taken_ = 0;
};

cli::CorrectionWords WordsOf(const ReverseArguments& options) {
  const bool reprices = options.policy_version != 0;
  return {.verb = options.reinstates ? "reinstated"
                  : reprices         ? "repriced by version " + std::to_string(options.policy_version)
                                     : "reversed",
          .reprices = reprices,
          .host = options.host.value_or(0)};
}

// Waits until everything sent before is processed.
Status Settle(Client& client) {
  // Kafka: waiting requires an open publisher, which sends a barrier.
  if (auto producer = client.Producer("corrections"); !producer.ok()) return producer.status();
  return client.WaitIdle();
}

struct Correction {
  json plan;
  IngestSummary sent;
  Refusals refusals;
};

Status Correct(Client& client, const ReverseArguments& options, const CorrectionRequest& request,
               Correction* done) {
  if (Status s = Settle(client); !s.ok()) return s;
  Progress looking("records", options.query.json);
  auto plan = client.AskLong(QuestionOf(request), [&](std::uint64_t read, std::uint64_t all) {
    looking.Show({.done = read, .all = all, .counted = read});
  });
  looking.Finish();
  if (!plan.ok()) return plan.status();
  done->plan = std::move(*plan);
  if (!options.yes || done->plan.at("corrections").empty()) return Status::Ok();
  const auto refused_before = RefusedSoFar(client);
  if (!refused_before.ok()) return refused_before.status();
  auto events = std::make_unique<Events>(done->plan);
  const IngestOptions ingest{.file = {}, .source = events->Name(refused_before->number)};
  Progress sending("events", options.query.json);
  Status s = Ingest(
      client, std::move(events), ingest,
      [&](const IngestPoint& point) {
        sending.Show({.done = point.bytes_read, .all = point.bytes_total, .counted = point.taken});
      },
      &done->sent);
  sending.Finish();
  if (s.ok()) s = client.WaitIdle();
  if (!s.ok()) return s;
  auto refusals = RefusedSince(client, *refused_before);
  if (!refusals.ok()) return refusals.status();
  done->refusals = std::move(*refusals);
  return Status::Ok();
}

int RunReverse(const ReverseArguments& options) {
  const auto settings = ProjectSettingsOf(options.query.place);
  if (!settings.ok()) return ReportError(settings.status());
  const auto request = RequestOf(options, *settings);
  if (!request.ok()) return ReportError(request.status());
  auto client = Client::Open(*settings, options.yes ? Purpose::kWork : Purpose::kAsk, ReportOpening);
  if (!client.ok()) return ReportError(client.status());
  Correction done;
  Status status = Correct(**client, options, *request, &done);
  const Status closed = (*client)->Close();
  if (!status.ok()) return ReportError(status);
  if (!closed.ok()) return ReportError(closed);
  const bool nothing = done.plan.at("corrections").empty();
  if (options.query.json) {
    done.plan["losses"] = CorrectionLosses(done.plan);
    done.plan["dry_run"] = !options.yes;
    done.plan["sent"] = done.sent.events;
    done.plan["refused"] = RefusalsJson(done.refusals);
    PrintJson(done.plan);
  } else {
    std::fputs(CorrectionPlanText(done.plan, WordsOf(options)).c_str(), stdout);
    if (nothing) {
      std::puts("no corrections are needed");
    } else if (!options.yes) {
      std::puts("dry run: nothing was written; run the command again with --yes to apply the corrections");
    } else {
      std::printf("%s events sent and processed\n", WithCommas(done.sent.events).c_str());
      PrintRefusals(done.refusals);
    }
  }
  return done.refusals.total() > 0 ? kExitProblems : kExitOk;
}

void AddOptions(Verb& verb, ReverseArguments& options) {
  verb.Add("--result", options.result, "number of a result").Type("N");
  verb.Add("--host", options.host, "all results of a host, and of the hosts merged into it").Type("N");
  verb.Add("--workunit", options.workunit, "all results of a workunit").Type("N");
  verb.Add("--app-version", options.app_version, "all results computed by an app version").Type("N");
  verb.Add(
          "--since", options.since,
          "only results whose last grant, trickle payment or judgement as invalid is at or after this time,\n"
          "UNIX seconds")
      .Type("T");
  verb.Add(
          "--until", options.until,
          "only results whose last grant, trickle payment or judgement as invalid is before this time, UNIX\n"
          "seconds")
      .Type("T");
  verb.Add("--reason", options.reason, "reason; stored in the ledger and shown by `explain`")
      .Required()
      .Type("TEXT");
  verb.Flag("--yes", options.yes, "apply the corrections (default: a dry run, which writes nothing)");
  AddQueryOptions(verb, options.query);
}

constexpr const char* kFooter =
    "Reads the whole ledger and shows the changes of credit and recent average for users, hosts and teams.\n"
    "Without --yes the command writes nothing. With --yes it sends one event for each result, owner and team,\n"
    "or for each running job that is repriced. After an interruption, run the command again: corrections are\n"
    "never applied twice. Recent averages change by the part of the corrected credit that they still contain.\n"
    "Each correction applies to the team that the credit was posted to, even if the user has left the team.\n"
    "--json prints every row.\n"
    "Exit code 1: events were refused. Exit code 3: the ledger has no matching credit.\n\n";

void AddReinstate(Program& program) {
  AddVerb<ReverseArguments>(
      program, "reinstate",
      "Restores credit that was reversed by mistake, or pays results that were judged invalid by mistake",
      [](Verb& verb, ReverseArguments& options) {
        options.reinstates = true;
        AddOptions(verb, options);
        verb.Flag("--judged-invalid", options.judged_invalid,
                  "only results that the validator judged invalid; not needed with --result");
        verb.Add("--credit", options.credit,
                 "Cobblestones for each result judged invalid, if policy assigned has no amount for it")
            .Type("X");
        verb.Footer(
            "Reads the whole ledger and shows the changes of credit and recent average for users, hosts and teams.\n"
            "Without --yes the command writes nothing. With --yes it sends one event for each result, owner and team.\n"
            "--json prints every row.\n"
            "Exit code 1: events were refused. Exit code 3: the ledger has no matching credit.\n\n"
            "Reversed results: each owner and team receives the amount that `reverse` removed, the result counts\n"
            "again, and recent averages receive the part that they would still contain. Reversals of running jobs are\n"
            "not reinstated.\n"
            "Results judged invalid: the owner at that time receives the amount that the results of the workunit were\n"
            "granted. If no result of the workunit was granted, the owner receives the result's own claim, by the\n"
            "policy version, scales and facts at the time of the judgement. If policy assigned has no amount, set\n"
            "--credit. Statistics of host and app version stay unchanged.\n"
            "To avoid payments by mistake, only --result includes both kinds. --host, --workunit and --app-version\n"
            "select reversed results or, with --judged-invalid, results judged invalid.\n"
            "Running the command again changes nothing.\n\n"
            "Example:  cobblestone reinstate --host 42 --reason 'not forged after all'\n"
            "Example:  cobblestone reinstate --result 7 --credit 100 --reason 'the validator was wrong' --yes");
      },
      RunReverse);
}

}  // namespace

void AddReverse(Program& program) {
  AddVerb<ReverseArguments>(
      program, "reverse", "Reverses granted credit; shows the losses first",
      [](Verb& verb, ReverseArguments& options) {
        AddOptions(verb, options);
        verb.Footer(
            std::string(kFooter) +
            "A running job loses its trickle payments until now and continues. Later trickle payments stay, and the\n"
            "decision about the job does not pay the reversed credit again.\n\n"
            "Example:  cobblestone reverse --host 42 --since 1700000000 --reason 'forged results'");
      },
      RunReverse);
  AddReinstate(program);
}

void AddReprice(Program& program) {
  AddVerb<ReverseArguments>(
      program, "reprice", "Reprices grants by another version of the app's policy",
      [](Verb& verb, ReverseArguments& options) {
        verb.Add("--policy-version", options.policy_version, "a present or past version of the app's policy")
            .Required()
            .Positive()
            .Type("V");
        AddOptions(verb, options);
        verb.Footer(
            std::string(kFooter) +
            "Prices are computed from the inputs that the ledger recorded with each grant and trickle, with the\n"
            "averages and scales of that time. A result with missing inputs stays unchanged and is listed. A running\n"
            "job is priced by the given version from now on, as if the version had been in force when the job was\n"
            "sent. A running job without any payment is not in the ledger and keeps its version: to reprice it, run\n"
            "the command again after the decision about the job.\n\n"
            "Example:  cobblestone reprice --policy-version 3 --app-version 7 --reason 'multiplier was wrong' --yes");
      },
      RunReverse);
}

}  // namespace cobblestone::commands
