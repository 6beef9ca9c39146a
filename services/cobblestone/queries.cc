#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "common/credit/policy.h"
#include "common/credit/reliability.h"
#include "common/wire/account_codec.h"
#include "common/wire/event_codec.h"
#include "common/wire/grant_codec.h"
#include "common/wire/json_lines.h"
#include "common/wire/refused_codec.h"
#include "common/wire/topics.h"
#include "services/cobblestone/engine.h"
#include "services/cobblestone/ledger_index.h"
#include "services/cobblestone/refused_json.h"
#include "services/cobblestone/replay.h"

namespace cobblestone {

using nlohmann::json;

namespace {

std::string MicroText(credit::MicroTotal micro) {
  const bool negative = micro < 0;
  auto rest = negative ? -static_cast<unsigned __int128>(micro) : static_cast<unsigned __int128>(micro);
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
    if (digits.size() == 6) digits.push_back('.');
  } while (rest != 0 || digits.size() < 8);
  if (negative) digits.push_back('-');
  std::reverse(digits.begin(), digits.end());
  return digits;
}

// JSON has no infinity: as text then.
json Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

json AverageJson(const credit::Average& a) { return {{"n", Number(a.n)}, {"mean", Number(a.mean)}}; }
json AverageVarJson(const credit::AverageVar& a) {
  return {{"n", Number(a.n)}, {"mean", Number(a.mean)}, {"variance", Number(a.var)}, {"q", Number(a.q)}};
}

json FlagsJson(std::uint32_t flags) {
  static constexpr std::pair<std::uint32_t, const char*> kNames[] = {
      {credit::kClaimValid, "valid"},
      {credit::kClaimInvalid, "invalid"},
      {credit::kClaimLate, "late"},
      {credit::kClaimExpired, "expired"},
      {credit::kClaimOutlier, "runtime_outlier"},
      {credit::kClaimHostDeleted, "host_deleted"},
      {credit::kClaimAnonymous, "anonymous_platform"},
      {credit::kClaimOnProbation, "on_probation"},
      {credit::kClaimPfcClamped, "clamped"},
      {credit::kClaimOneTimeCheat, "one_time_cheat"},
      {credit::kClaimSanityFailed, "sanity_check_failed"},
      {credit::kClaimHasVersionScale, "version_scale_applied"},
      {credit::kClaimHasHostScale, "host_scale_applied"},
      {credit::kClaimHostScaleCheck, "host_scale_check"},
      {credit::kClaimUnreplicated, "unreplicated"},
      {credit::kClaimNoClaim, "no_claim"},
  };
  json names = json::array();
  for (const auto& [flag, name] : kNames)
    if ((flags & flag) != 0) names.push_back(name);
  return names;
}

json ClaimJson(const credit::Claim& claim) {
  const double raw = claim.elapsed_time * claim.peak_flops;
  json j{
      {"result", claim.result.value},
      {"workunit", claim.workunit.value},
      {"host", claim.host.value},
      {"user", claim.user.value},
      {"app", claim.app.value},
      {"app_version", claim.version.value},
      {"validated_at", Number(claim.time)},
      {"validation_event", claim.validation_id},
      {"pass", claim.pass},
      {"awaited_claims", claim.awaited},
      {"policy", credit::PolicyName(claim.policy)},
      {"policy_version", claim.policy_version},
      {"epoch", claim.epoch},
      {"facts",
       {{"elapsed_time_s", Number(claim.elapsed_time)},
        {"cpu_time_s", Number(claim.cpu_time)},
        {"peak_flops", Number(claim.peak_flops)},
        {"fpops_est", Number(claim.fpops_est)},
        {"fpops_bound", Number(claim.fpops_bound)},
        {"sent_time", Number(claim.sent_time)},
        {"received_time", Number(claim.received_time)},
        {"reported", Number(claim.reported)},
        {"benchmark", Number(claim.benchmark)}}},
      {"raw_pfc", Number(raw)},
      {"sample", Number(raw / claim.fpops_est)},
      {"version_average", {{"n", Number(claim.version_pfc_n)}, {"mean", Number(claim.version_pfc_mean)}}},
      {"version_scale", Number(claim.version_scale)},
      {"min_avg_pfc", Number(claim.min_avg_pfc)},
      {"host_average_before", {{"n", Number(claim.host_pfc_n)}, {"mean", Number(claim.host_pfc_mean)}}},
      {"consecutive_valid", Number(claim.consecutive_valid)},
      {"host_scale_time", Number(claim.host_scale_time)},
      {"flags", FlagsJson(claim.flags)},
      {"mode", credit::ModeName(claim.mode)},
      {"pfc", Number(claim.pfc)},
      {"claimed", Number(claim.claimed)},
  };
  if ((claim.flags & credit::kClaimHasHostScale) != 0 && claim.host_pfc_mean != 0)
    j["host_scale"] = Number(claim.version_pfc_mean / claim.host_pfc_mean);
  return j;
}

json AccountJson(const credit::Account& account, double now) {
  json apps = json::array();
  for (const credit::AppSum& app : account.apps)
    apps.push_back({{"app", app.app.value}, {"total", MicroText(app.micro)}, {"grants", app.grants}});
  json days = json::array();
  for (const credit::DaySum& day : account.days)
    days.push_back({{"day", day.day}, {"total", MicroText(day.micro)}, {"grants", day.grants}});
  return {{"total", MicroText(account.total_micro)},
          {"opening", MicroText(account.opening_micro)},
          {"grants", account.grants},
          {"rac", Number(account.recent.value)},
          {"rac_time", Number(account.recent.time)},
          {"rac_now", Number(credit::DecayedAverage(account.recent, now, credit::kRecentAverageHalfLife))},
          {"apps", apps},
          {"days", days}};
}

double WallClock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

stream::Key KeyOf(ProjectId project, std::uint64_t id) {
  return {.project = project.value, .id = id, .sub = 0};
}

// A record of the ledger, which is never trimmed.
Status ReadRecord(stream::embedded::Log& log, stream::TopicPartition where, std::uint64_t offset,
                  const std::function<bool(std::string_view)>& decode) {
  const auto batch = log.Read(where, offset);
  if (!batch.ok()) return batch.status();
  const std::string name = "record " + std::to_string(offset) + " of partition " +
                           std::to_string(where.partition) + " of the ledger";
  if (*batch == nullptr) return Status::Corrupted(name + " is missing");
  stream::RecordCursor cursor((*batch)->payload);
  std::string_view record;
  for (std::uint64_t at = (*batch)->first; at <= offset; ++at) cursor.Next(&record);
  return decode(record) ? Status::Ok() : Status::Corrupted(name + " does not decode");
}

}  // namespace

// The team whose credit a result has become; none: of a user without one, or not yet.
Result<TeamId> Engine::PostedTo(ProjectId project, ResultId result) {
  auto places = index_->Postings(project, result);
  if (!places.ok()) return places.status();
  wire::Posting posting;
  for (const LedgerPlace& place : *places) {
    Status read = ReadRecord(*log_, {wire::kPostings, place.partition}, place.offset,
                             [&](std::string_view record) { return wire::DecodePosting(record, &posting); });
    if (!read.ok()) return read;
  }
  return posting.team;
}

Result<json> Engine::Explain(ProjectId project, ResultId result) {
  auto places = index_->Grants(project, result);
  if (!places.ok()) return places.status();
  json grants = json::array();
  for (const LedgerPlace& place : *places) {
    wire::Grant grant;
    Status read = ReadRecord(*log_, {wire::kGrants, place.partition}, place.offset,
                             [&](std::string_view record) { return wire::DecodeGrant(record, &grant); });
    if (!read.ok()) return read;
    json j{{"kind", grant.head.kind == wire::GrantKind::kFinal ? "final" : "other"},
           {"project", grant.head.project.value},
           {"result", grant.head.result.value},
           {"user", grant.head.user.value},
           {"host", grant.head.host.value},
           {"app", grant.head.app.value},
           {"granted_at", Number(grant.head.time)},
           {"late", (grant.head.flags & credit::kGrantLate) != 0},
           {"credit", MicroText(grant.head.credit_micro)},
           {"credit_micro", grant.head.credit_micro},
           {"credit_before_rounding", JsonNumber(grant.detail.credit)},
           {"counted_as", credit::ModeName(grant.detail.mode)},
           {"max_granted_credit", Number(grant.detail.max_granted_credit)},
           {"canonical_result", grant.detail.canonical_result.value},
           {"ledger", {{"partition", place.partition}, {"offset", place.offset}}}};
    if (grant.claim) j["claim"] = ClaimJson(*grant.claim);
    json others = json::array();
    for (const wire::OtherClaim& other : grant.others)
      others.push_back({{"result", other.result.value},
                        {"host", other.host.value},
                        {"mode", credit::ModeName(other.mode)},
                        {"flags", FlagsJson(other.flags)},
                        {"pfc", Number(other.pfc)},
                        {"claimed", Number(other.claimed)}});
    j["other_claims"] = others;
    // Who got it: the host always, its user unless deleted, the user's team as the ledger has it.
    json postings = json::array();
    postings.push_back({{"account", "host"}, {"id", grant.head.host.value}});
    if (grant.head.user) {
      std::optional<json> posted;
      bool deleted = false;
      const std::uint32_t slot =
          wire::OwnerPartition(project, grant.head.user, grant.head.host, pipeline_.partitions);
      runner_->Query(slot, [&](stream::Slot&) {
        const accounts::UserState* user =
            stages_[slot].accounts->users().Find(KeyOf(project, grant.head.user.value));
        if (user != nullptr && user->unnamed.Expired(place.offset)) {
          j["expired"] = "no event had named the user in time: its host alone has the credit";
          return;
        }
        if (user == nullptr || !user->known()) {
          postings.clear();
          j["waits_for"] = "no event has named the user yet";
          return;
        }
        posted = json{{"account", "user"}, {"id", grant.head.user.value}, {"name", user->name}};
        deleted = user->deleted;
      });
      if (posted) {
        // After the look at the state: what it has posted is durable now, and so found.
        const auto team = PostedTo(project, result);
        if (!team.ok()) return team.status();
        if (!deleted || *team) postings.push_back(*posted);
        if (*team) postings.push_back({{"account", "team"}, {"id", team->value}});
      }
    }
    j["postings"] = postings;
    grants.push_back(j);
  }
  if (!grants.empty()) return json{{"result", result.value}, {"project", project.value}, {"grants", grants}};

  // Not in the ledger: what is known of it on its way there?
  json waiting;
  for (std::uint32_t slot = 0; slot < pipeline_.partitions && waiting.is_null(); ++slot) {
    runner_->Query(slot, [&](stream::Slot&) {
      const claims::Pending* pending = stages_[slot].claims->FindPending(project, result);
      if (pending == nullptr) return;
      waiting = {{"host", pending->host},
                 {"has_completion", !pending->completion.empty()},
                 {"has_validation", !pending->validation.empty()},
                 {"waits_for", pending->waits_for_host       ? "an event that names its host"
                               : pending->completion.empty() ? "its completion"
                                                             : "the validator's decision"}};
    });
  }
  if (!waiting.is_null())
    return json{{"result", result.value},
                {"project", project.value},
                {"grants", json::array()},
                {"pending", waiting}};
  return Status::NotFound(
      "result " + std::to_string(result.value) + " of project " + std::to_string(project.value) +
      ": nothing was granted to it and nothing of it waits. Was it valid? `refused list` shows "
      "what was not taken in; its workunit may still wait for another replica");
}

// With its owner; where the host has just moved, wherever it still is. An account between two partitions is in the log and
// in none of them: it is there a moment later. Null: it did not come, since nobody works here.
std::optional<credit::Account> Engine::HostAccountOf(ProjectId project, HostId host, UserId owner) {
  constexpr int kTries = 200;
  const std::uint32_t home = wire::OwnerPartition(project, owner, host, pipeline_.partitions);
  for (int attempt = 0; attempt < kTries; ++attempt) {
    std::optional<credit::Account> found;
    bool on_its_way = false;
    for (std::uint32_t step = 0; step < pipeline_.partitions && !found; ++step) {
      const std::uint32_t slot = (home + step) % pipeline_.partitions;
      runner_->Query(slot, [&](stream::Slot&) {
        const auto* row = stages_[slot].accounts->hosts().Find(KeyOf(project, host.value));
        if (row == nullptr) return;
        if (row->elsewhere) {
          on_its_way = true;
        } else {
          found = row->account;
        }
      });
    }
    if (found) return found;
    if (!on_its_way) return credit::Account{};  // granted nothing yet
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return std::nullopt;
}

Result<json> Engine::Account(ProjectId project, wire::AccountKind kind, std::uint64_t id) {
  const double now = WallClock();
  json found;
  if (kind == wire::AccountKind::kUser) {
    const std::uint32_t slot = wire::PartitionOf(project, id, pipeline_.partitions);
    runner_->Query(slot, [&](stream::Slot&) {
      if (const auto* user = stages_[slot].accounts->users().Find(KeyOf(project, id))) {
        found = AccountJson(user->account, now);
        found["name"] = user->name;
        found["team"] = user->TeamNow().value;
        found["deleted"] = user->deleted;
        found["known"] = user->known();
        found["waiting_grants"] = user->unnamed.waiting();
        if (user->unnamed.expired > 0) {
          found["expired_grants"] = user->unnamed.expired;
          found["expired_credit"] = MicroText(user->unnamed.expired_micro);
        }
      }
    });
  } else if (kind == wire::AccountKind::kTeam) {
    const std::uint32_t slot = wire::PartitionOf(project, id, pipeline_.partitions);
    runner_->Query(slot, [&](stream::Slot&) {
      if (const auto* team = stages_[slot].teams->teams().Find(KeyOf(project, id))) {
        found = AccountJson(team->account, now);
        found["name"] = team->name;
        found["deleted"] = team->deleted;
      }
    });
  } else {
    const std::uint32_t own = wire::PartitionOf(project, id, pipeline_.partitions);
    UserId owner;
    json host;
    runner_->Query(own, [&](stream::Slot&) {
      if (const auto* state = stages_[own].claims->hosts().Find(KeyOf(project, id))) {
        owner = state->record.user;
        host = {{"user", owner.value},
                {"known", state->record.known},
                {"deleted", state->record.deleted},
                {"cpus", state->record.cpus},
                {"gpus", state->record.gpus},
                {"whetstone", Number(state->record.whetstone)},
                {"avg_turnaround", Number(state->record.avg_turnaround)}};
        json versions = json::array();
        for (const auto& row : state->record.versions)
          versions.push_back(
              {{"app", row.app.value}, {"app_version", row.version.value}, {"jobs", Number(row.pfc.n)}});
        host["versions"] = versions;
      }
    });
    if (!host.is_null()) {
      const std::optional<credit::Account> account = HostAccountOf(project, HostId(id), owner);
      if (!account)
        return Status::Retry(
            "the account of host " + std::to_string(id) +
            " is on its way to its new owner's partition, and no program runs that takes it in: start "
            "`cobblestone run`");
      found = AccountJson(*account, now);
      found.update(host);
    }
  }
  if (found.is_null())
    return Status::NotFound("project " + std::to_string(project.value) +
                            " has no such account: " + std::to_string(id));
  found["project"] = project.value;
  found["id"] = id;
  found["kind"] = kind == wire::AccountKind::kUser   ? "user"
                  : kind == wire::AccountKind::kTeam ? "team"
                                                     : "host";
  return found;
}

Result<json> Engine::HostVersion(ProjectId project, HostId host, AppVersionId version, AppId app) {
  const std::uint32_t slot = wire::PartitionOf(project, host.value, pipeline_.partitions);
  json rows = json::array();
  runner_->Query(slot, [&](stream::Slot&) {
    const auto* state = stages_[slot].claims->hosts().Find(KeyOf(project, host.value));
    if (state == nullptr) return;
    for (const credit::HostVersion& row : state->record.versions) {
      if (row.version != version || (app && row.app != app)) continue;
      json j{{"project", project.value},
             {"host", host.value},
             {"app", row.app.value},
             {"app_version", row.version.value},
             {"pfc", AverageJson(row.pfc)},
             {"et", AverageVarJson(row.et)},
             {"turnaround", AverageVarJson(row.turnaround)},
             {"consecutive_valid", Number(row.consecutive_valid)},
             {"max_jobs_per_day", Number(row.max_jobs_per_day)},
             {"error_rate", Number(row.error_rate)},
             {"host_scale_time", Number(row.host_scale_time)},
             {"scale_probation", row.scale_probation},
             {"jobs_today", Number(row.jobs_today)}};
      if (row.et.n > 0 && row.et.mean > 0) j["flops_estimate"] = Number(1 / row.et.mean);
      rows.push_back(j);
    }
  });
  if (rows.empty())
    return Status::NotFound("host " + std::to_string(host.value) + " has no record of app version " +
                            std::to_string(version.value) + " in project " + std::to_string(project.value));
  return json{{"rows", rows}};
}

std::string Engine::ProjectName(ProjectId project) const {
  for (const settings::ProjectEntry& known : settings_.projects)
    if (known.id == project) return known.name;
  return {};
}

Status Engine::CheckProject(ProjectId project) {
  if (settings_.projects.empty() || !ProjectName(project).empty()) return Status::Ok();
  std::map<std::uint32_t, std::string> known;
  for (const settings::ProjectEntry& entry : settings_.projects)
    known[entry.id.value] = " (" + entry.name + ")";
  runner_->Query(pipeline_.partitions, [&](stream::Slot&) {
    stages_[pipeline_.partitions].coordinator->projects().ForEach(
        [&](const stream::Key& key, const coordinator::ProjectState&) { known[key.project]; });
  });
  if (known.contains(project.value)) return Status::Ok();
  std::string list;
  for (const auto& [id, name] : known) list += (list.empty() ? "" : ", ") + std::to_string(id) + name;
  return Status::NotFound("there is no project " + std::to_string(project.value) + "; known are " + list);
}

Result<json> Engine::Scales(ProjectId project) {
  json found;
  runner_->Query(pipeline_.partitions, [&](stream::Slot&) {
    const coordinator::ProjectState* state =
        stages_[pipeline_.partitions].coordinator->projects().Find(KeyOf(project, 0));
    if (state == nullptr) return;
    json apps = json::array();
    for (const auto& [id, app] : state->catalogue.apps) {
      json j{{"app", id},
             {"name", app.name},
             {"policy", credit::PolicyName(app.policy.kind)},
             {"policy_version", app.policy.version}};
      const auto scale = state->scales.table.apps.find(id);
      if (scale != state->scales.table.apps.end()) {
        j["min_avg_pfc"] = scale->second.defined ? Number(scale->second.min_avg_pfc) : json();
        j["cpu_mean"] = Number(scale->second.cpu_mean);
        j["gpu_mean"] = Number(scale->second.gpu_mean);
        j["claims"] = {{"n", Number(scale->second.claim_n)},
                       {"mean", Number(scale->second.claim_mean)},
                       {"variance", Number(scale->second.claim_var)}};
      }
      apps.push_back(j);
    }
    json versions = json::array();
    for (const auto& [id, version] : state->catalogue.versions) {
      json j{{"app_version", id},
             {"app", version.app.value},
             {"version_num", version.version_num},
             {"plan_class", version.plan_class},
             {"gpu", version.IsGpu()}};
      const auto scale = state->scales.table.versions.find(id);
      if (scale != state->scales.table.versions.end()) {
        j["pfc"] = AverageJson(scale->second.pfc);
        j["scale"] = Number(scale->second.scale);
        j["expavg_credit"] = Number(scale->second.expavg_credit);
      }
      versions.push_back(j);
    }
    found = {{"project", project.value},
             {"epoch", state->scales.table.epoch},
             {"time", Number(state->scales.table.time)},
             {"apps", apps},
             {"versions", versions}};
  });
  if (found.is_null()) return Status::NotFound("there is no project " + std::to_string(project.value));
  return found;
}

namespace {}  // namespace

json RefusedJson(std::uint64_t offset, const wire::Refused& refused) {
  json j{{"number", offset},
         {"reason", wire::RefusalReasonName(refused.refusal.reason)},
         {"detail", refused.refusal.detail},
         {"project", refused.project.value},
         {"topic", refused.topic},
         {"partition", refused.partition},
         {"offset", refused.offset},
         {"append_time", Number(refused.append_time)},
         {"bytes", refused.original.size()}};
  if (!refused.source.empty()) {
    j["source"] = refused.source;
    j["line"] = refused.line + 1;
  }
  if (auto text = wire::EnvelopeToJson(refused.original); text.ok() && refused.source.empty()) {
    j["event"] = json::parse(*text, nullptr, false);
  } else {
    std::string printable = refused.original.substr(0, 200);
    for (char& c : printable)
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
    j["original"] = printable;
  }
  return j;
}

Status MayBeResubmitted(std::uint64_t offset, const wire::Refused& refused) {
  const std::string name = "refused record " + std::to_string(offset);
  if (refused.topic == wire::TopicName(wire::kClaims))
    return Status::InvalidArgument(name + " is a claim, no event (" + refused.refusal.detail +
                                   "): the events of its result were taken in");
  if (!refused.source.empty() || refused.topic == wire::TopicName(wire::kGrants))
    return Status::InvalidArgument(name + " never was an event (" + refused.refusal.detail +
                                   "): correct it and ingest it again");
  return Status::Ok();
}

Result<json> Engine::RefusedList(std::uint64_t from, std::uint64_t limit) {
  json list = json::array();
  const stream::TopicPartition where{wire::kRefused, 0};
  Status bad;
  std::uint64_t at = std::max(from, log_->Begin(where));
  const std::uint64_t end = log_->DurableEnd(where);
  while (at < end && list.size() < limit) {
    auto batch = log_->Read(where, at);
    if (!batch.ok()) return batch.status();
    if (*batch == nullptr) break;
    stream::RecordCursor cursor((*batch)->payload);
    std::string_view record;
    for (std::uint64_t offset = (*batch)->first; cursor.Next(&record) && list.size() < limit; ++offset) {
      if (offset < at) continue;
      wire::Refused refused;
      if (!wire::DecodeRefused(record, &refused))
        return Status::Corrupted("a refused record does not decode");
      list.push_back(RefusedJson(offset, refused));
    }
    at = (*batch)->end();
  }
  return json{{"refused", list}, {"all", end}};
}

Result<json> Engine::RefusedShow(std::uint64_t offset) {
  auto list = RefusedList(offset, 1);
  if (!list.ok()) return list.status();
  if ((*list)["refused"].empty() || (*list)["refused"][0]["number"] != offset)
    return Status::NotFound("there is no refused record " + std::to_string(offset));
  return (*list)["refused"][0];
}

Result<json> Engine::RefusedResubmit(std::uint64_t offset) {
  std::optional<std::string> original;
  const stream::TopicPartition where{wire::kRefused, 0};
  if (offset >= log_->DurableEnd(where))
    return Status::NotFound("there is no refused record " + std::to_string(offset));
  auto batch = log_->Read(where, offset);
  if (!batch.ok()) return batch.status();
  stream::RecordCursor cursor((*batch)->payload);
  std::string_view record;
  for (std::uint64_t at = (*batch)->first; cursor.Next(&record); ++at) {
    if (at != offset) continue;
    wire::Refused refused;
    if (!wire::DecodeRefused(record, &refused)) return Status::Corrupted("a refused record does not decode");
    if (Status s = MayBeResubmitted(offset, refused); !s.ok()) return s;
    original = refused.original;
  }
  if (!original) return Status::NotFound("there is no refused record " + std::to_string(offset));
  const auto routing = wire::PeekRouting(*original);
  const stream::TopicPartition to = routing ? wire::RouteEvent(*routing, pipeline_.partitions)
                                            : stream::TopicPartition{wire::kCompletions, 0};
  const Said said = SaidBy(*original);
  const bool barrier = lockstep() ? StandsAlone(said) : to.topic == wire::kCatalogue;
  std::lock_guard lock(append_mutex_);
  if (Status s = lockstep() ? EndPeriodBefore(said, false) : DrainFor(barrier); !s.ok()) return s;
  stream::embedded::LogUnit unit;
  if (lockstep() && said != Said::kNothing) Remember(said, unit);
  unit.outputs.push_back({.where = to, .payload = {}, .count = 1});
  stream::AppendRecord(unit.outputs.back().payload, *original);
  log_->WaitDurable(AppendDrained(std::move(unit), barrier));
  if (lockstep() && started_)
    if (Status s = EndPeriodBefore(Said::kNothing, true); !s.ok()) return s;
  if (Status s = runner_->failure(); !s.ok()) return s;
  return json{{"resubmitted", offset}};
}

// The slots first: the marks of which they know are durable then, and so among the records.
EngineCounts Engine::Counts() {
  const std::uint32_t n = pipeline_.partitions;
  std::uint64_t made = 0;
  std::uint64_t passed = 0;
  runner_->Query(n, [&](stream::Slot&) { made = stages_[n].coordinator->marks(); });
  for (std::uint32_t k = 0; k < n; ++k)
    runner_->Query(k, [&](stream::Slot&) { passed += stages_[k].grants->marks().passed(); });
  EngineCounts counts;
  for (std::uint32_t p = 0; p < n; ++p) {
    counts.completions += log_->DurableEnd({wire::kCompletions, p}) - made;
    counts.grants += log_->DurableEnd({wire::kGrants, p}) - passed;
  }
  return counts;
}

json Engine::Tasks() {
  json tasks = json::array();
  std::uint64_t lag = 0;
  for (const auto& slot : runner_->status()) {
    char hash[40];
    std::snprintf(hash, sizeof hash, "%016llx%016llx", static_cast<unsigned long long>(slot.hash.high),
                  static_cast<unsigned long long>(slot.hash.low));
    lag += slot.lag;
    tasks.push_back(
        {{"slot", slot.slot},
         {"role", slot.slot == pipeline_.partitions ? "coordinator" : "claims, grants, accounts, teams"},
         {"commits", slot.sequence},
         {"hash", hash},
         {"lag", slot.lag},
         {"state_written", slot.flushed_sequence},
         {"checkpoint", slot.checkpoint_sequence},
         {"commits_executed_again", slot.reexecuted},
         {"records", slot.records},
         {"objects_in_memory", slot.cached_objects},
         {"store_reads", slot.store_reads}});
  }
  const auto counters = log_->counters();
  return {{"tasks", tasks},
          {"lag", lag},
          {"grants", Counts().grants},
          {"refused", log_->DurableEnd({wire::kRefused, 0})},
          {"log",
           {{"units", counters.units},
            {"syncs", counters.syncs},
            {"records", counters.records},
            {"raw_bytes", counters.raw_bytes},
            {"stored_bytes", counters.stored_bytes},
            {"sync_seconds", static_cast<double>(counters.sync_nanos) / 1e9},
            {"disk_bytes", log_->disk_bytes()}}}};
}

}  // namespace cobblestone
