#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "common/federation/identity/ownership_proof.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/events.h"
#include "services/access/ingest.h"
#include "services/access/refusals.h"
#include "services/commands/command.h"
#include "services/events/event_stream.h"
#include "services/feeds/proofs.h"

namespace cobblestone::commands {

using access::Refusals;
using access::RefusedSince;
using access::RefusedSoFar;

namespace {

constexpr std::size_t kLongestProof = 16384;  // bytes

struct ProofOptions {
  DataPlace place;
  std::string file;
  std::uint32_t project = 0;
};

Result<std::string> ReadProof(const std::string& file) {
  std::string text;
  if (file == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream in(file, std::ios::binary);
    if (!in) return Status::NotFound("cannot read " + file);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  if (text.size() > kLongestProof)
    return Status::InvalidArgument(file + " is too long for a proof of ownership");
  return text;
}

// The project whose URL the proof names.
Result<ProjectId> ProjectOf(const ProofOptions& options, const settings::RunSettings& settings,
                            const federation::OwnershipProof& proof) {
  if (options.project != 0) return ProjectId(options.project);
  for (const settings::ProjectEntry& entry : settings.projects)
    if (!entry.url.empty() && feeds::ComparableUrl(entry.url) == feeds::ComparableUrl(proof.master_url))
      return entry.id;
  return Status::InvalidArgument("no project of the configuration has the url " + proof.master_url +
                                 "; set --project, or use --config");
}

class OneEvent final : public events::EventStream {
 public:
  explicit OneEvent(std::string envelope) : envelope_(std::move(envelope)) {}
  Status ForEach(const std::function<Status(const events::EventItem&)>& take) override {
    taken_ = 1;
    return take({.envelope = envelope_, .raw = envelope_, .problem = {}, .line = 0});
  }
  [[nodiscard]] events::EventFormat format() const override { return events::EventFormat::kDelimited; }
  [[nodiscard]] bool has_own_ticks() const override { return true; }
  [[nodiscard]] std::uint64_t bytes_read() const override { return taken_; }
  [[nodiscard]] std::uint64_t bytes_total() const override { return 1; }

 private:
  const std::string envelope_;
  std::uint64_t taken_ = 0;
};

// A proof that is handed in twice is the same fact, so each time has a source of its own.
Status Send(Client& client, ProjectId project, const federation::OwnershipProof& proof, Refusals* refusals) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto id =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  const std::string event = wire::EncodeEvent(
      {.head = {.id = id, .project = project, .time = std::chrono::duration<double>(now).count()},
       .body = wire::OwnershipProof{
           .master_url = proof.master_url, .message = proof.message, .signature = proof.signature}});
  const auto before = RefusedSoFar(client);
  if (!before.ok()) return before.status();
  access::IngestSummary sent;
  const std::string source = "ownership proof " + std::to_string(project.value) + "/" + std::to_string(id);
  if (Status s = access::Ingest(client, std::make_unique<OneEvent>(event), {.file = {}, .source = source}, {},
                                &sent);
      !s.ok())
    return s;
  if (Status s = client.WaitIdle(); !s.ok()) return s;
  auto since = RefusedSince(client, *before);
  if (!since.ok()) return since.status();
  *refusals = std::move(*since);
  return Status::Ok();
}

int RunProof(const ProofOptions& options) {
  const auto settings = SettingsOf(options.place);
  if (!settings.ok()) return ReportError(settings.status());
  if (settings->role != settings::Role::kHub)
    return ReportError(
        Status::InvalidArgument("this configuration is not that of a federation hub: set role: hub"));
  const auto text = ReadProof(options.file);
  if (!text.ok()) return ReportError(text.status());
  const auto proof = federation::ReadOwnershipProof(*text);
  if (!proof.ok()) return ReportError(proof.status());
  if (const auto statement = federation::ParseStatement(proof->message); !statement.ok())
    return ReportError(statement.status());
  const auto project = ProjectOf(options, *settings, *proof);
  if (!project.ok()) return ReportError(project.status());
  auto client = Client::Open(*settings, Purpose::kWork, ReportOpening);
  if (!client.ok()) return ReportError(client.status());
  Refusals refusals;
  const Status sent = Send(**client, *project, *proof, &refusals);
  const Status closed = (*client)->Close();
  if (!sent.ok()) return ReportError(sent);
  if (!closed.ok()) return ReportError(closed);
  PrintRefusals(refusals);
  if (refusals.total() > 0) return kExitProblems;
  std::printf("accepted: %s\n", TerminalText(proof->message).c_str());
  return kExitOk;
}

}  // namespace

void AddHubProof(Program& program, Verb& hub) {
  AddVerb<ProofOptions>(
      program, hub, "proof", "Hands in a signed proof of account ownership",
      [](Verb& verb, ProofOptions& options) {
        verb.Add("FILE", options.file,
                 "the text that the project's page `account_ownership.php` shows; -: standard input")
            .Required();
        verb.Add("--project", options.project,
                 "the hub's number of the project (default: the one with the url of the proof)")
            .Positive()
            .Type("N");
        AddDataPlace(verb, options.place);
        verb.Footer(
            "Statements that a hub knows: `cobblestone joins URL USERID` (both accounts must say so),\n"
            "`cobblestone leaves YYYY-MM-DD` and `cobblestone returns YYYY-MM-DD`. The project needs an ownership_key\n"
            "in the configuration of `cobblestone hub collect`. Exit code 1: the hub refused the proof.\n\n"
            "Example:  cobblestone hub proof proof.xml --config hub.yaml");
      },
      RunProof);
}

}  // namespace cobblestone::commands
