#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "common/credit/policies/policy.h"
#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/accounts/accounts_stage.h"
#include "services/claims/state.h"
#include "services/view/json.h"
#include "services/view/project_now.h"

namespace cobblestone::view {

using nlohmann::json;

namespace {

// Same format as in the output of `replay`; the shortest text with all bits would do as well.
std::string ExactText(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

// Unpaid trickles of a result that an answer contains at most, for each partition of the ledger.
constexpr std::size_t kMaxUnpaidListed = 1000;

bool Corrects(std::uint32_t flags) { return (flags & credit::kGrantCorrects) != 0; }

std::string_view KindText(const wire::GrantHead& head) {
  switch (head.kind) {
    case wire::GrantKind::kFinal: return "final";
    case wire::GrantKind::kPartial: return "partial";
    case wire::GrantKind::kReversal: return Corrects(head.flags) ? "reversal" : "settlement";
    case wire::GrantKind::kRepricing:
      return (head.flags & credit::kGrantReinstates) != 0 ? "reinstatement" : "repricing";
    case wire::GrantKind::kOpening: return "opening";
    default: return "other";
  }
}

// The kind, as far as a posting shows it.
std::string_view KindText(const wire::Posting& posting) {
  if (Corrects(posting.flags)) return "correction";
  if (!posting.uncounted) return "final";
  return posting.credit_micro > 0 ? "partial" : "settlement";
}

// True if the record changes the account. The opening of a host also names the host's owner,
// who has a separate opening.
bool Moves(const wire::GrantHead& head, wire::AccountKind kind, std::uint64_t id) {
  const bool opening = head.kind == wire::GrantKind::kOpening;
  if (!opening && !wire::IsAward(head.kind)) return false;
  if (kind == wire::AccountKind::kHost) return head.host.value == id;
  return head.user.value == id && !(opening && head.host);
}

json RowOf(const wire::GrantHead& head) {
  json row{{"kind", KindText(head)},
           {"time", Number(head.time)},
           {"credit", MicroText(head.credit_micro)},
           {"user", head.user.value},
           {"late", (head.flags & credit::kGrantLate) != 0}};
  if (head.host) row["host"] = head.host.value;
  if (head.result) row["result"] = head.result.value;
  if (head.kind == wire::GrantKind::kOpening) row["rac"] = Number(head.work_start);
  return row;
}

json RowOf(const wire::Posting& posting) {
  return {{"kind", KindText(posting)},
          {"time", Number(posting.time)},
          {"credit", MicroText(posting.credit_micro)},
          {"user", posting.user.value},
          {"late", (posting.flags & credit::kGrantLate) != 0},
          {"host", posting.host.value},
          {"result", posting.result.value}};
}

Status DoesNotDecode(const LedgerPlace& place) {
  return Status::Corrupted("record " + std::to_string(place.offset) + " of partition " +
                           std::to_string(place.partition) + " of the ledger cannot be decoded");
}

}  // namespace

// The team that received the result's credit; none: the user has no team, or the credit is not posted yet.
Result<TeamId> Questions::PostedTo(ProjectId project, ResultId result) {
  const auto places = ledger_.PostingsOf(project, result);
  if (!places.ok()) return places.status();
  TeamId team;
  for (const LedgerPlace& place : *places) {
    bool whole = true;
    Status read = ledger_.ReadPosting(place, [&](std::string_view record) {
      wire::Posting posting;
      if (wire::IsPassedPosting(record)) return true;
      whole = wire::DecodePosting(record, &posting);
      if (whole && posting.project == project && posting.result == result) team = posting.team;
      return whole;
    });
    if (!read.ok()) return read;
    if (!whole) return DoesNotDecode(place);
  }
  return team;
}

// Adds the accounts that received the grant: the host, the user unless deleted, and the team of the posting.
Status Questions::AddPostings(ProjectId project, const LedgerPlace& place, const wire::GrantHead& head,
                              json& grant) {
  json postings = json::array();
  postings.push_back({{"account", "host"}, {"id", head.host.value}});
  if (head.user) {
    const auto rows =
        state_.Of(Stage::kAccounts, wire::OwnerPartition(project, head.user, head.host, state_.partitions()));
    if (!rows.ok()) return rows.status();
    const auto user = Find(**rows, accounts::kUsersTable, KeyOf(project, head.user.value));
    if (!user.ok()) return user.status();
    if (*user && (*user)->unnamed.Expired(place.offset)) {
      grant["expired"] = "the event of the user did not arrive in time: only the host has the credit";
    } else if (!*user || !(*user)->known()) {
      postings.clear();
      grant["waits_for"] = "the event of the user has not arrived yet";
    } else {
      // After the read of the state: all postings of this state are durable now, and so found.
      const auto team = PostedTo(project, head.result);
      if (!team.ok()) return team.status();
      if (!(*user)->deleted || *team)
        postings.push_back({{"account", "user"}, {"id", head.user.value}, {"name", (*user)->name}});
      if (*team) {
        json posted{{"account", "team"}, {"id", team->value}};
        if (std::string name = TeamName(project, *team); !name.empty()) posted["name"] = name;
        postings.push_back(posted);
      }
    }
  }
  grant["postings"] = postings;
  return Status::Ok();
}

Result<json> Questions::GrantJson(ProjectId project, const LedgerPlace& place, std::string_view record) {
  wire::Grant grant;
  if (!wire::DecodeGrant(record, &grant)) return DoesNotDecode(place);
  json j{{"kind", KindText(grant.head)},
         {"project", grant.head.project.value},
         {"result", grant.head.result.value},
         {"user", grant.head.user.value},
         {"host", grant.head.host.value},
         {"app", grant.head.app.value},
         {"granted_at", Number(grant.head.time)},
         {"late", (grant.head.flags & credit::kGrantLate) != 0},
         {"credit", MicroText(grant.head.credit_micro)},
         {"credit_micro", grant.head.credit_micro},
         {"credit_before_rounding", ExactText(grant.detail.credit)},
         {"counted_as", credit::ModeName(grant.detail.mode)},
         {"max_granted_credit", Number(grant.detail.max_granted_credit)},
         {"canonical_result", grant.detail.canonical_result.value},
         {"ledger", {{"partition", place.partition}, {"offset", place.offset}}}};
  if (const auto now = Now(project); now.ok())
    if (const credit::AppRow* app = (*now)->state.catalogue.FindApp(grant.head.app))
      j["app_name"] = app->name;
  if (grant.claim) j["claim"] = ClaimJson(*grant.claim);
  json others = json::array();
  for (const wire::OtherClaim& other : grant.others) {
    others.push_back({{"result", other.result.value},
                      {"host", other.host.value},
                      {"mode", credit::ModeName(other.mode)},
                      {"flags", FlagsJson(other.flags)},
                      {"pfc", Number(other.pfc)},
                      {"claimed", Number(other.claimed)}});
    if (grant.claim && grant.claim->policy == credit::PolicyKind::kRobust)
      others.back()["reliability"] = Number(other.reliability.value_or(grant.claim->reliability));
  }
  j["other_claims"] = others;
  if (Status s = AddPostings(project, place, grant.head, j); !s.ok()) return s;
  return j;
}

Result<json> Questions::Unpaid(ProjectId project, ResultId result, const json& partials) {
  auto places = ledger_.TricklesOf(project, result, kMaxUnpaidListed);
  if (!places.ok()) return places.status();
  places->erase(std::unique(places->begin(), places->end()), places->end());
  json unpaid = json::array();
  for (const LedgerPlace& place : *places) {
    Status bad;
    Status read = ledger_.ReadGrant(place, [&](std::string_view record) {
      wire::GrantHead head;
      if (!wire::DecodeGrantHead(record, &head) || head.kind != wire::GrantKind::kTrickle) return true;
      if (head.project != project || head.result != result) return true;
      wire::Grant whole;
      if (!wire::DecodeGrant(record, &whole) || !whole.partial) {
        bad = DoesNotDecode(place);
        return false;
      }
      json one = UnpaidJson(whole);
      // A refused trickle has no high-water marks, so its time decides.
      const bool refused = one.contains("refused");
      const auto earlier = [&](const json& partial) {
        return refused
                   ? partial["time"].is_number() && partial["time"].get<double>() <= whole.partial->sent_time
                   : partial["paid_before_micro"].get<std::int64_t>() < whole.partial->paid_before;
      };
      one["behind"] = std::count_if(partials.begin(), partials.end(), earlier);
      unpaid.push_back(std::move(one));
      return true;
    });
    if (!read.ok()) return read;
    if (!bad.ok()) return bad;
  }
  std::stable_sort(unpaid.begin(), unpaid.end(),
                   [](const json& a, const json& b) { return a["behind"] < b["behind"]; });
  return unpaid;
}

Result<json> Questions::Explain(ProjectId project, ResultId result) {
  const auto places = ledger_.GrantsOf(project, result);
  if (!places.ok()) return places.status();
  json grants = json::array();
  json partials = json::array();
  json reversals = json::array();
  json corrections = json::array();
  json judged_invalid;
  credit::MicroTotal all = 0;
  for (const LedgerPlace& place : *places) {
    Status bad;
    Status read = ledger_.ReadGrant(place, [&](std::string_view record) {
      wire::GrantHead head;
      if (!wire::DecodeGrantHead(record, &head) || wire::IsHostMove(head.kind)) return true;
      if (head.kind == wire::GrantKind::kTrickle) return true;
      if (head.project != project || head.result != result) return true;
      if (head.kind == wire::GrantKind::kInvalid) {
        wire::Grant whole;
        const bool decoded = wire::DecodeGrant(record, &whole) && whole.claim;
        if (decoded) judged_invalid = InvalidJson(whole);
        if (!decoded) bad = DoesNotDecode(place);
        return decoded;
      }
      all += head.credit_micro;
      if (Corrects(head.flags)) {
        wire::Grant whole;
        const bool decoded = wire::DecodeGrant(record, &whole) && whole.undone;
        if (decoded) corrections.push_back(CorrectionJson(whole));
        if (!decoded) bad = DoesNotDecode(place);
        return decoded;
      }
      if (head.kind == wire::GrantKind::kPartial || head.kind == wire::GrantKind::kReversal) {
        wire::Grant whole;
        const bool partial = head.kind == wire::GrantKind::kPartial;
        if (!wire::DecodeGrant(record, &whole) || (partial && !whole.partial)) {
          bad = DoesNotDecode(place);
          return false;
        }
        (partial ? partials : reversals).push_back(partial ? PartialJson(whole) : ReversalJson(whole));
        return true;
      }
      auto grant = GrantJson(project, place, record);
      if (grant.ok())
        grants.push_back(std::move(*grant));
      else
        bad = grant.status();
      return bad.ok();
    });
    if (!read.ok()) return read;
    if (!bad.ok()) return bad;
  }
  json answer{{"result", result.value}, {"project", project.value}, {"grants", grants}};
  if (!judged_invalid.is_null()) answer["judged_invalid"] = judged_invalid;
  if (!corrections.empty()) {
    answer["corrections"] = corrections;
    answer["credit"] = MicroText(all);
  }
  if (!partials.empty()) {
    // Each partial grant pays from the mark of the previous one.
    std::stable_sort(partials.begin(), partials.end(), [](const json& a, const json& b) {
      return a["paid_before_micro"].get<std::int64_t>() < b["paid_before_micro"].get<std::int64_t>();
    });
    answer["partials"] = partials;
    answer["reversals"] = reversals;
    answer["credit"] = MicroText(all);
    credit::MicroTotal paid = 0;
    for (const json& one : partials) paid += one["credit_micro"].get<std::int64_t>();
    answer["paid_by_trickles"] = MicroText(paid);
    answer["provisional"] = MicroText(grants.empty() && reversals.empty() ? all : 0);
  }
  const auto unpaid = Unpaid(project, result, partials);
  if (!unpaid.ok()) return unpaid.status();
  if (!unpaid->empty()) answer["unpaid"] = *unpaid;
  if (unpaid->size() >= kMaxUnpaidListed) answer["unpaid_newest"] = true;
  if (!grants.empty() || !judged_invalid.is_null()) return answer;
  // Not in the ledger: answers with the result's pending events.
  const auto pending = PendingJson(project, result);
  if (!pending.ok()) return pending;
  if (!pending->is_null()) answer["pending"] = *pending;
  if (!pending->is_null() || !partials.empty() || !unpaid->empty()) return answer;
  return Status::NotFound("result " + std::to_string(result.value) + " of project " +
                          std::to_string(project.value) +
                          ": no grant and no waiting event of this result. Check that the result is valid: "
                          "`refused list` shows its refused events. The workunit may also wait for another "
                          "replica");
}

Result<json> Questions::PendingJson(ProjectId project, ResultId result) {
  for (std::uint32_t k = 0; k < state_.partitions(); ++k) {
    const auto rows = state_.Of(Stage::kClaims, k);
    if (!rows.ok()) return rows.status();
    json found;
    Status read = (*rows)->ScanOf(
        claims::kPendingTable.id, project, result.value, [&](const stream::Key&, std::string_view bytes) {
          if (!found.is_null()) return Status::Ok();
          claims::Pending pending;
          if (Status s = stream::DecodeRow(claims::kPendingTable, bytes, pending); !s.ok()) return s;
          found = {{"host", pending.host},
                   {"has_completion", !pending.completion.empty()},
                   {"has_validation", !pending.validation.empty()},
                   {"waits_for", pending.waits_for_host ? "the event of its host"
                                 : pending.completion.empty() && pending.validation.empty()
                                     ? "its host, which is still running the job"
                                 : pending.completion.empty() ? "its completion"
                                                              : "the validator's decision"}};
          return Status::Ok();
        });
    if (!read.ok()) return read;
    if (!found.is_null()) return found;
  }
  return json();
}

Result<json> Questions::Grants(ProjectId project, wire::AccountKind kind, std::uint64_t id, std::size_t limit,
                               const Shows& shows) {
  // Some records name the account without changing it. If too few are left, reads more places.
  for (std::size_t n = limit;; n *= 4) {
    const auto places = ledger_.NewestTo(project, kind, id, n);
    if (!places.ok()) return places.status();
    auto rows = GrantsAt(*places, project, kind, id, limit, shows);
    if (!rows.ok() || rows->size() >= limit || places->size() < n) return rows;
  }
}

Result<json> Questions::GrantsAt(std::span<const LedgerPlace> places, ProjectId project,
                                 wire::AccountKind kind, std::uint64_t id, std::size_t limit,
                                 const Shows& shows) {
  const auto now = Now(project);
  json list = json::array();
  json last;  // the last `limit` rows of one partition, in its order
  const auto add = [&](json row, AppId app) {
    if (app) row["app"] = app.value;
    if (app && now.ok())
      if (const credit::AppRow* found = (*now)->state.catalogue.FindApp(app);
          found != nullptr && !found->name.empty())
        row["app_name"] = found->name;
    last.push_back(std::move(row));
    if (last.size() > limit) last.erase(last.begin());
  };
  // Cached, because a list names few users and each profile costs a read of a row.
  std::map<std::uint64_t, bool> known;
  const auto seen = [&](UserId user) {
    if (!shows) return true;
    const auto [at, added] = known.try_emplace(user.value, false);
    if (added) at->second = shows(user);
    return at->second;
  };
  const auto end_partition = [&] {
    for (json& row : last) list.push_back(std::move(row));
    last = json::array();
  };
  const auto granted = [&](std::string_view record) {
    wire::GrantHead head;
    if (wire::DecodeGrantHead(record, &head) && head.project == project && Moves(head, kind, id) &&
        seen(head.user))
      add(RowOf(head), head.app);
    return true;
  };
  const auto posted = [&](std::string_view record) {
    wire::Posting posting;
    if (!wire::IsPassedPosting(record) && wire::DecodePosting(record, &posting) &&
        posting.project == project && posting.team.value == id && seen(posting.user))
      add(RowOf(posting), posting.app);
    return true;
  };
  std::optional<std::uint32_t> partition;
  for (const LedgerPlace& place : places) {
    if (partition != place.partition) end_partition();
    partition = place.partition;
    Status read = kind == wire::AccountKind::kTeam ? ledger_.ReadPosting(place, posted)
                                                   : ledger_.ReadGrant(place, granted);
    if (!read.ok()) return read;
  }
  end_partition();
  // Only times order the rows of different partitions.
  std::stable_sort(list.begin(), list.end(), [](const json& a, const json& b) {
    return a["time"].is_number() && b["time"].is_number() &&
           a["time"].get<double>() > b["time"].get<double>();
  });
  while (list.size() > limit) list.erase(list.end() - 1);
  return list;
}

}  // namespace cobblestone::view
