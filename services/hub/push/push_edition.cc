#include "services/hub/push/push_edition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "common/credit/model/constants.h"
#include "common/federation/plan_class.h"
#include "common/stream/hash128.h"
#include "common/wire/events/event_codec.h"
#include "services/export/records.h"
#include "services/export/selection.h"
#include "services/hub/collector/edition_maker.h"
#include "services/hub/collector/record_file.h"
#include "services/hub/collector/record_index.h"

namespace cobblestone::hub {

namespace {

// Beyond these a hub refuses the event (common/wire/events): a project's own events have the same limits, but for a
// description, which is put together here.
constexpr std::size_t kLongestPart = 1000;     // bytes
constexpr double kEndOfTime = 253402300800.0;  // UNIX s: the year 10000

// The beginning of a text, without half a character.
std::string Shortened(std::string_view text) {
  if (text.size() <= kLongestPart) return std::string(text);
  std::size_t end = kLongestPart;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

double TimeOf(double time) { return time >= 0 && time < kEndOfTime ? time : 0; }
double TimeOf(std::int64_t time) { return TimeOf(static_cast<double>(time)); }
double FiniteOrZero(double value) { return std::isfinite(value) ? value : 0; }
std::uint64_t NumberOf(std::int64_t id) { return id > 0 ? static_cast<std::uint64_t>(id) : 0; }

// Without what an event cannot hold: such a day is not known.
std::vector<credit::CorrectedDay> CorrectionsOf(const exports::User& user) {
  const auto is_day = [](std::int64_t day) {
    return day > 0 && static_cast<double>(day) < kEndOfTime / credit::kSecondsPerDay;
  };
  std::vector<credit::CorrectedDay> corrections;
  for (const exports::Correction& one : user.corrections)
    if (is_day(one.came))
      credit::AddCorrection(
          {.micro = one.micro, .came = one.came, .about = is_day(one.about) ? one.about : 0}, corrections);
  return corrections;
}

wire::FeedAccount AccountOf(const exports::User& user) {
  // Statistics files have an MD5 even for a user without an id. Such an id would join strangers.
  const std::string cpid = exports::CpidOf(user);
  return {.kind = wire::AccountKind::kUser,
          .account = static_cast<std::uint64_t>(user.id),
          .recent = FiniteOrZero(user.expavg_credit),
          .recent_time = TimeOf(user.expavg_time),
          .create_time = TimeOf(user.create_time),
          .name = user.name,
          .country = user.country,
          .url = user.url,
          .cross_project_id = user.cpid && *user.cpid == cpid ? cpid : std::string(),
          .team = NumberOf(user.teamid),
          .corrections = CorrectionsOf(user)};
}

wire::FeedAccount AccountOf(const exports::Team& team) {
  return {.kind = wire::AccountKind::kTeam,
          .account = static_cast<std::uint64_t>(team.id),
          .recent = FiniteOrZero(team.expavg_credit),
          .recent_time = TimeOf(team.expavg_time),
          .create_time = TimeOf(team.create_time),
          .name = team.name,
          .country = team.country,
          .url = team.url,
          .owner = NumberOf(team.userid)};
}

// As in statistics files, only users who show their hosts are named as owners.
wire::FeedAccount AccountOf(const exports::Host& host, exports::Source& source) {
  std::string description;
  for (const std::string& part : {host.p_vendor, host.p_model, host.os_name, host.os_version})
    if (!part.empty()) description += (description.empty() ? "" : " ") + Shortened(part);
  const exports::Owner owner = source.OwnerOf(host.userid);
  return {.kind = wire::AccountKind::kHost,
          .account = static_cast<std::uint64_t>(host.id),
          .recent = FiniteOrZero(host.expavg_credit),
          .recent_time = TimeOf(host.expavg_time),
          .create_time = TimeOf(host.create_time),
          .cross_project_id = host.host_cpid,
          .owner = owner.exists && owner.shows_hosts ? NumberOf(host.userid) : 0,
          .description = std::move(description)};
}

class PushMaker {
 public:
  PushMaker(exports::Source& source, const PushedEditionRequest& request)
      : source_(source), request_(request) {}

  Result<PushedEdition> Make() {
    if (Status s = OpenIndexes(); !s.ok()) return s;
    auto out = RecordFile::Create(request_.work + "/" + kEventsName);
    if (!out.ok()) return out.status();
    out_ = &*out;
    for (const wire::EventBody& fact : request_.facts) Add(request_.edition, fact);
    AddEdition(wire::EditionState::kBegun);
    for (std::size_t n = 0; n < kRecordKinds.size(); ++n)
      if (Status s = AddKind(n); !s.ok()) return s;
    AddEdition(wire::EditionState::kComplete);
    made_.events = out_->count();
    if (Status s = out_->Finish(); !s.ok()) return s;
    return std::move(made_);
  }

 private:
  Status OpenIndexes() {
    made_.whole = request_.whole;
    for (std::size_t n = 0; n < kRecordKinds.size() && !made_.whole; ++n) {
      auto index = RecordIndex::OpenIntact(request_.indexes + "/" + IndexName(kRecordKinds[n]));
      if (!index.ok()) return index.status();
      if (*index) indexes_[n] = std::move(**index);
      made_.whole = !*index;
    }
    if (made_.whole) indexes_ = {};
    return Status::Ok();
  }

  Status AddKind(std::size_t n) {
    auto writer = RecordIndexWriter::Create(request_.work + "/" + IndexName(kRecordKinds[n]));
    if (!writer.ok()) return writer.status();
    writer_ = &*writer;
    index_ = &indexes_[n];
    sum_ = {};
    Status read;
    switch (kRecordKinds[n]) {
      case RecordKind::kUser:
        sum_.kind = wire::AccountKind::kUser;
        read = exports::PublishedUsers(
            source_, [&](const exports::User& user) { return Put(AccountOf(user), user.balance); });
        break;
      case RecordKind::kHost:
        sum_.kind = wire::AccountKind::kHost;
        read = exports::PublishedHosts(
            source_, [&](const exports::Host& host) { return Put(AccountOf(host, source_), host.balance); });
        break;
      case RecordKind::kTeam:
        sum_.kind = wire::AccountKind::kTeam;
        read = exports::PublishedTeams(
            source_, [&](const exports::Team& team) { return Put(AccountOf(team), team.balance); });
        break;
    }
    if (!read.ok()) return read;
    index_->ForEachUnseen([&](const IndexedRecord& gone) {
      AddAccount({.kind = sum_.kind, .account = gone.id, .gone = true});
    });
    made_.changed += sum_.changed;
    made_.sums.push_back(sum_);
    return writer->Finish();
  }

  // Sends the account if it differs from that of the edition before.
  Status Put(wire::FeedAccount account, exports::MicroSum balance) {
    if (balance < 0 || balance > std::numeric_limits<credit::MicroCredit>::max())
      return Status::InvalidArgument("the total of account " + std::to_string(account.account) +
                                     " is outside of what can be sent to a hub");
    account.total_micro = static_cast<credit::MicroCredit>(balance);
    const std::uint64_t hash = stream::HashBytes(wire::EncodeEvent({.head = {}, .body = account})).low;
    const IndexedRecord* before = index_->Find(account.account);
    writer_->Add({.id = account.account, .hash = hash, .total_micro = account.total_micro});
    ++sum_.accounts;
    sum_.total_micro += account.total_micro;
    if (before == nullptr || before->hash != hash) AddAccount(std::move(account));
    return Status::Ok();
  }

  void AddAccount(wire::FeedAccount account) {
    account.edition = request_.edition;
    ++sum_.changed;
    Add(request_.edition, std::move(account));
  }

  void AddEdition(wire::EditionState state) {
    wire::FeedEdition edition{
        .edition = request_.edition, .state = state, .published_time = request_.time, .whole = made_.whole};
    const bool begun = state == wire::EditionState::kBegun;
    if (!begun) edition.sums = made_.sums;
    Add(2 * request_.edition + (begun ? 0 : 1), std::move(edition));
  }

  void Add(std::uint64_t id, wire::EventBody body) {
    out_->Add(wire::EncodeEvent(
        {.head = {.id = id, .project = request_.project, .time = request_.time}, .body = std::move(body)}));
  }

  exports::Source& source_;
  const PushedEditionRequest& request_;
  PushedEdition made_;
  std::array<RecordIndex, kRecordKinds.size()> indexes_;
  // Of the kind that is being read.
  RecordIndexWriter* writer_ = nullptr;
  RecordIndex* index_ = nullptr;
  wire::FeedSum sum_;
  RecordFile* out_ = nullptr;
};

double NumberIn(const nlohmann::json& from, const char* field) {
  const auto found = from.find(field);
  if (found == from.end() || !found->is_number()) return 0;
  const double value = found->get<double>();
  return std::isfinite(value) && value > 0 ? value : 0;
}

}  // namespace

Result<PushedEdition> MakePushedEdition(exports::Source& source, const PushedEditionRequest& request) {
  return PushMaker(source, request).Make();
}

wire::FeedVersions FeedVersionsOf(const nlohmann::json& published) {
  wire::FeedVersions report{.as_of = TimeOf(NumberIn(published, "as_of"))};
  for (const nlohmann::json& one : published.at("app_versions")) {
    if (one.at("deprecated").get<bool>()) continue;
    report.versions.push_back({.app = one.at("app").get<std::uint64_t>(),
                               .app_name = one.at("app_name").get<std::string>(),
                               .app_version = one.at("app_version").get<std::uint64_t>(),
                               .platform = one.at("platform").get<std::string>(),
                               .plan_class = one.at("plan_class").get<std::string>(),
                               .resource = federation::ResourceOfName(one.at("resource").get<std::string>()),
                               .samples = NumberIn(one, "samples"),
                               .scale = NumberIn(one, "scale"),
                               .recent_credit = NumberIn(one, "recent_credit"),
                               .recent_time = report.as_of,
                               .both_kinds = one.at("both_kinds").get<bool>()});
  }
  return report;
}

}  // namespace cobblestone::hub
