#include "services/cobblestone/correction_plan.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "common/credit/correction.h"
#include "common/stream/hash128.h"
#include "common/wire/account_codec.h"
#include "common/wire/control_codec.h"
#include "common/wire/event_codec.h"
#include "common/wire/mark_codec.h"
#include "common/wire/refused_codec.h"
#include "common/wire/topics.h"
#include "services/view/json.h"

namespace cobblestone {

using nlohmann::json;

namespace {

bool SameBits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// Of what was decided upon, and never of when or why: whoever decides the same upon the same says the same.
std::uint64_t EventIdOf(ProjectId project, ResultId result, const wire::LedgerEntry& entry,
                        credit::MicroCredit after, std::uint32_t policy_version) {
  std::string text;
  for (const std::uint64_t number :
       {std::uint64_t{project.value}, result.value, entry.host.value, entry.user.value, entry.team.value,
        entry.previous, static_cast<std::uint64_t>(entry.credit_micro), static_cast<std::uint64_t>(after),
        std::uint64_t{policy_version}, std::uint64_t{entry.counted ? 1u : 0u}})
    text += std::to_string(number) + ' ';
  return std::max<std::uint64_t>(1, stream::HashBytes(text).low);
}

}  // namespace

bool CorrectionReader::TakeControl(std::string_view record) {
  wire::ControlView control;
  if (!wire::DecodeControl(record, &control)) return false;
  if (control.kind != wire::ControlKind::kEvent || control.head.project != request_.project) return true;
  return wire::ApplyControl(control, view_).ok();
}

bool CorrectionReader::Meant(const wire::GrantHead& head, const wire::Grant& whole) const {
  const auto id = static_cast<std::uint64_t>(request_.id);
  switch (request_.target) {
    case wire::TargetKind::kResult: return head.result.value == id;
    case wire::TargetKind::kHost: return head.host.value == id || Joined(head.host);
    case wire::TargetKind::kWorkunit:
      return (whole.claim && whole.claim->workunit.value == id) ||
             (whole.partial && whole.partial->workunit.value == id);
    case wire::TargetKind::kAppVersion: {
      if (whole.claim) return whole.claim->version.value == request_.id;
      // Of one whose trickles' records do not tell a version, its grant may.
      return whole.partial && MayBeOf(head.app) &&
             (whole.partial->version.value == 0 || whole.partial->version.value == request_.id);
    }
    case wire::TargetKind::kNone: break;
  }
  return false;
}

// Whether a merge has come about only ACCOUNTS knows: it does once the ledger has shown the other host, or what that has become, as
// that owner's.
bool CorrectionReader::TakeHost(std::string_view record) {
  wire::GrantHead head;
  if (!wire::DecodeGrantHead(record, &head)) return false;
  if (head.project != request_.project || !head.host || !head.user) return true;
  if (head.kind != wire::GrantKind::kEstimate && head.kind != wire::GrantKind::kHostLeaves)
    owned_.emplace(head.host, head.user);
  if (head.kind != wire::GrantKind::kHostMerged) return true;
  wire::Grant whole;
  if (!wire::DecodeGrant(record, &whole)) return false;
  // Of a circle of one owner's the last is refused; they are read in order.
  HostId last = whole.into;
  for (auto next = merges_.find(last); next != merges_.end() && next->second.user == head.user;
       next = merges_.find(last))
    last = next->second.into;
  if (last != head.host) merges_[head.host] = {.into = whole.into, .user = head.user};
  return true;
}

// What the host has become, if anything. `asked`: hosts whose heirs were asked for on the way, each once.
std::optional<HostId> CorrectionReader::HeirOf(HostId host, std::set<HostId>& asked) const {
  const auto merge = merges_.find(host);
  if (merge == merges_.end() || !asked.insert(host).second) return std::nullopt;
  std::optional<HostId> heir = merge->second.into;
  while (heir && !owned_.contains({*heir, merge->second.user})) heir = HeirOf(*heir, asked);
  return heir == host ? std::nullopt : heir;
}

// The host has become the one that is asked for.
bool CorrectionReader::Joined(HostId host) const {
  std::set<HostId> asked;
  for (auto heir = HeirOf(host, asked); heir; heir = HeirOf(*heir, asked))
    if (heir->value == static_cast<std::uint64_t>(request_.id)) return true;
  return false;
}

// The app version that is asked for may be one of this app: any that is not in the catalogue.
bool CorrectionReader::MayBeOf(AppId app) const {
  const credit::AppVersionRow* row = view_.catalogue.FindVersion(AppVersionId(request_.id));
  return row == nullptr || row->app == app;
}

bool CorrectionReader::Select(std::string_view record) {
  wire::Grant grant;
  if (!wire::DecodeGrantHead(record, &grant.head)) return false;
  if (!wire::IsAward(grant.head.kind) || grant.head.project != request_.project) return true;
  const bool by_head =
      request_.target == wire::TargetKind::kResult || request_.target == wire::TargetKind::kHost;
  if (by_head && !Meant(grant.head, grant)) return true;
  if (!wire::DecodeGrant(record, &grant)) return false;
  if (!Meant(grant.head, grant)) return true;
  results_.insert(grant.head.result.value);
  if (request_.policy_version != 0 && grant.claim) asked_workunits_.insert(grant.claim->workunit.value);
  return true;
}

bool CorrectionReader::TakeGrant(std::string_view bytes) {
  wire::GrantHead head;
  if (!wire::DecodeGrantHead(bytes, &head)) return false;
  if (!wire::IsAward(head.kind) || head.project != request_.project) return true;
  newest_ = std::max(newest_, head.time);
  const bool meant = results_.contains(head.result.value);
  if (!meant && (asked_workunits_.empty() || head.kind != wire::GrantKind::kFinal)) return true;
  wire::Grant grant;
  if (!wire::DecodeGrant(bytes, &grant)) return false;
  if (grant.claim && asked_workunits_.contains(grant.claim->workunit.value))
    finals_[head.result.value] = grant;
  if (!meant) return true;

  records_[{head.result.value, head.host.value, head.user.value}].push_back(
      {.kind = head.kind,
       .team = head.team,
       .micro = head.credit_micro,
       .provisional = wire::ProvisionalOf(head) - head.settles_micro,
       .time = head.time,
       .recent_off = head.recent_off,
       .flags = head.flags,
       .event = grant.undone ? grant.undone->event : 0,
       .before = grant.undone ? grant.undone->credit_micro : 0});
  Facts& facts = facts_[head.result.value];
  facts.app = head.app;
  facts.settled += head.settles_micro;
  if (grant.undone) return true;
  facts.last_credit = std::max(facts.last_credit, head.time);
  facts.partials += wire::ProvisionalOf(head);
  if (grant.partial) {
    facts.workunit = grant.partial->workunit;
    if (grant.partial->version.value != 0) facts.version = grant.partial->version;
    if (grant.partial->price) facts.trickle_rules.insert(grant.partial->price->rule_version);
  }
  if (grant.claim) {
    facts.workunit = grant.claim->workunit;
    facts.version = grant.claim->version;
    facts.final = std::move(grant);
  }
  return true;
}

bool CorrectionReader::TakePosting(std::string_view bytes) {
  if (wire::IsPassedPosting(bytes)) return true;
  wire::Posting posting;
  if (!wire::DecodePosting(bytes, &posting)) return false;
  if (posting.project != request_.project || !results_.contains(posting.result.value)) return true;
  const auto found = records_.find({posting.result.value, posting.host.value, posting.user.value});
  if (found == records_.end()) return true;
  for (Record& one : found->second) {
    if (one.posted || (one.flags & credit::kGrantCorrects) != 0 || one.micro != posting.credit_micro ||
        !SameBits(one.time, posting.time) || (one.kind == wire::GrantKind::kFinal) == posting.uncounted)
      continue;
    one.posted = true;
    one.team = posting.team;
    break;
  }
  return true;
}

bool CorrectionReader::TakeRefused(std::string_view bytes) {
  wire::Refused refused;
  if (!wire::DecodeRefused(bytes, &refused)) return false;
  if (refused.refusal.reason != wire::RefusalReason::kUnknownUser || refused.topic != "grants") return true;
  wire::GrantHead head;
  if (!wire::DecodeGrantHead(refused.original, &head)) return true;
  const auto facts = facts_.find(head.result.value);
  if (head.project == request_.project && facts != facts_.end()) facts->second.unnamed = true;
  return true;
}

std::optional<credit::RecordedClaim> CorrectionReader::RecordedOf(const credit::Claim& claim,
                                                                  bool whole) const {
  const credit::PolicyVersion* then = view_.FindPolicy(claim.app, claim.policy_version);
  if (then == nullptr) return std::nullopt;
  return credit::RecordedClaim{.claim = claim, .whole = whole, .benchmark = then->constants.benchmark};
}

// Of the job, by the version that is asked for; none: `problem` says why it cannot be told.
std::optional<credit::MicroCredit> CorrectionReader::Worth(const Facts& facts, std::string* problem) const {
  const wire::Grant* grant = &*facts.final;
  if ((grant->head.flags & credit::kGrantLate) != 0) {
    // It got what its workunit's results got.
    const auto on_time = std::find_if(finals_.begin(), finals_.end(), [&](const auto& one) {
      return one.second.claim->workunit == facts.workunit &&
             (one.second.head.flags & credit::kGrantLate) == 0;
    });
    if (on_time == finals_.end()) {
      *problem = "it was late, and of its workunit's other results none was granted anything";
      return std::nullopt;
    }
    grant = &on_time->second;
  }
  std::vector<credit::RecordedClaim> claims;
  const auto add = [&](const credit::Claim& claim, bool whole) {
    if (auto recorded = RecordedOf(claim, whole)) claims.push_back(std::move(*recorded));
  };
  add(*grant->claim, true);
  for (const wire::OtherClaim& other : grant->others) {
    const auto own = finals_.find(other.result.value);
    const bool whole = own != finals_.end() && own->second.claim->workunit == facts.workunit &&
                       own->second.claim->host == other.host;
    add(whole ? *own->second.claim : wire::ClaimOf(other, *grant->claim), whole);
  }
  if (claims.size() != grant->others.size() + 1) {
    *problem = "the log has not the version of the policy that it was priced by";
    return std::nullopt;
  }
  std::sort(claims.begin(), claims.end(),
            [](const auto& a, const auto& b) { return a.claim.result < b.claim.result; });
  const credit::PricedAnew anew = credit::PriceAnew(claims, grant->detail.max_granted_credit,
                                                    *view_.FindPolicy(facts.app, request_.policy_version));
  *problem = anew.problem;
  return anew.problem.empty() ? std::optional(anew.micro) : std::nullopt;
}

void CorrectionReader::Add(std::uint64_t result, wire::LedgerEntry entry, credit::MicroCredit after,
                           CorrectionPlan& plan) {
  const double time = request_.time > 0 ? request_.time : newest_;
  wire::Event event{
      .head = {.id = EventIdOf(request_.project, ResultId(result), entry, after, request_.policy_version),
               .project = request_.project,
               .time = time},
      .body = {}};
  const wire::Target target{.kind = wire::TargetKind::kResult, .id = result};
  if (request_.policy_version == 0) {
    event.body = wire::Reversal{.target = target, .reason = request_.reason, .entry = entry};
  } else {
    event.body = wire::Repricing{.policy_version = request_.policy_version,
                                 .target = target,
                                 .reason = request_.reason,
                                 .entry = entry,
                                 .credit_micro = after};
  }
  const double off =
      credit::ShareOff({.value = entry.recent, .time = entry.recent_time}, entry.credit_micro, after, time);
  plan.corrections.push_back({.event = std::move(event),
                              .result = ResultId(result),
                              .entry = entry,
                              .after = after,
                              .recent_off = off});
}

// What a result is worth more is of the team that had its grant; what it is worth less goes from that one first, then from
// those that had its partial grants, the last ones first.
void CorrectionReader::Spread(std::uint64_t result, std::vector<wire::LedgerEntry> entries,
                              credit::MicroTotal change, CorrectionPlan& plan) {
  std::reverse(entries.begin(), entries.end());
  std::stable_partition(entries.begin(), entries.end(), [](const auto& one) { return one.counted; });
  for (wire::LedgerEntry& entry : entries) {
    const credit::MicroTotal all_of_it = -std::max<credit::MicroTotal>(entry.credit_micro, 0);
    const credit::MicroTotal here =
        change > 0 || &entry == &entries.back() ? change : std::max(change, all_of_it);
    if (here == 0) continue;
    Add(result, entry, entry.credit_micro + static_cast<credit::MicroCredit>(here), plan);
    change -= here;
  }
}

void CorrectionReader::PlanResult(std::uint64_t result, const Facts& facts, CorrectionPlan& plan) {
  const auto problem = [&](std::string why) { plan.problems.emplace_back(ResultId(result), std::move(why)); };
  if (request_.target == wire::TargetKind::kAppVersion && !facts.version)
    return problem(
        "its trickles alone were paid, by an earlier program that did not say for which app version: "
        "if it is one of them, name the result");
  if (facts.unnamed)
    return problem(
        "its user was never named, so that its host alone has the credit: nothing to take it from");
  // CLAIMS, which decides, would settle once more what was taken back.
  if (facts.partials != facts.settled)
    return problem("its job still runs: what it was paid is settled when it is decided; ask again then");
  const bool reprices = request_.policy_version != 0;
  std::optional<credit::MicroCredit> worth;
  if (reprices) {
    const auto prices_alike = [&](std::uint32_t version) {
      const credit::PolicyVersion* then = view_.FindPolicy(facts.app, version);
      return then != nullptr &&
             then->trickles == view_.FindPolicy(facts.app, request_.policy_version)->trickles;
    };
    if (!std::all_of(facts.trickle_rules.begin(), facts.trickle_rules.end(), prices_alike))
      return problem(
          "that version prices its trickles otherwise, and what trickles were paid is never priced anew: "
          "take it back, or leave it");
    if (!facts.final) return problem("it got no grant that could be priced");
    const wire::GrantHead& final = facts.final->head;
    const std::vector<Record>& own = records_[{result, final.host.value, final.user.value}];
    if (std::any_of(own.begin(), own.end(),
                    [](const Record& one) { return (one.flags & credit::kGrantUncounts) != 0; }))
      return problem("its grant was taken back");
    std::string why;
    worth = Worth(facts, &why);
    if (!worth) return problem(std::move(why));
  }
  for (auto at = records_.lower_bound({.result = result}); at != records_.end() && at->first.result == result;
       ++at) {
    const OwnerKey& owner = at->first;
    std::vector<wire::LedgerEntry> entries;
    std::vector<credit::RecentAverage> shares;
    credit::MicroTotal had = 0;
    credit::MicroTotal taken = 0;  // by operators
    credit::MicroTotal granted = 0;
    bool any_late = false;  // trickles behind the decision have brought more than the grant
    for (const Record& record : at->second) {
      if (record.event == 0 && record.micro == 0 && record.kind != wire::GrantKind::kFinal)
        continue;  // it settles what is there, is posted to no team, and has none to take from
      auto entry = std::find_if(entries.begin(), entries.end(),
                                [&](const auto& one) { return one.team == record.team; });
      if (entry == entries.end()) {
        entry = entries.insert(entry, {.user = UserId(owner.user),
                                       .host = HostId(owner.host),
                                       .team = record.team,
                                       .workunit = facts.workunit,
                                       .app = facts.app,
                                       .app_version = facts.version.value_or(AppVersionId())});
        shares.emplace_back();
      }
      credit::RecentAverage& share = shares[static_cast<std::size_t>(entry - entries.begin())];
      had += record.micro;
      if (record.event == 0) granted += record.micro;
      any_late =
          any_late || (record.kind == wire::GrantKind::kPartial && (record.flags & credit::kGrantLate) != 0);
      entry->credit_micro += record.micro;
      if (record.kind == wire::GrantKind::kFinal) entry->counted = true;
      if ((record.flags & credit::kGrantUncounts) != 0) entry->counted = false;
      if (record.event != 0) entry->previous = record.event;
      if (record.event != 0 && record.kind == wire::GrantKind::kReversal) taken += record.micro;
      if (record.event != 0 || record.micro < 0) {
        credit::TakeFromShare(record.recent_off, record.time, share);
      } else if (record.micro > 0) {
        credit::AddToShare(record.micro, record.time, share);
      }
    }
    if (entries.empty()) continue;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      entries[i].recent = shares[i].value;
      entries[i].recent_time = shares[i].time;
    }
    if (reprices) {
      const bool own = owner.host == facts.final->head.host.value;
      credit::MicroTotal brought = credit::BroughtTo(UserId(owner.user), *facts.final->claim, *worth);
      if (any_late) brought = std::max(brought, granted);  // it is what its trickles are worth, and is kept
      const credit::MicroTotal change = own ? taken + brought - had : 0;
      plan.unchanged += change == 0 ? 1 : 0;
      if (change != 0) Spread(result, std::move(entries), change, plan);
      continue;
    }
    for (const wire::LedgerEntry& entry : entries) {
      const bool something = entry.credit_micro != 0 || entry.counted;
      plan.unchanged += something ? 0 : 1;
      if (something) Add(result, entry, 0, plan);
    }
  }
}

std::vector<std::string> CorrectionReader::WrongCorrections() const {
  struct Net {
    credit::MicroTotal micro = 0;
    std::set<credit::MicroTotal> since;  // each that it was since the last correction
  };
  std::vector<std::string> wrong;
  for (const auto& [owner, records] : records_) {
    std::map<TeamId, Net> by_team;
    credit::MicroTotal provisional = 0;
    for (const Record& record : records) {
      Net& net = by_team[record.team];
      net.since.insert(net.micro);
      const std::string which = "correction " + std::to_string(record.event);
      if (record.event != 0 && !net.since.contains(record.before))
        wrong.push_back(which + " rests on " + std::to_string(record.before) +
                        " micro-credits, and the ledger had " +
                        std::to_string(static_cast<long long>(net.micro)));
      if (record.event != 0 && record.kind == wire::GrantKind::kReversal && record.micro != -record.before)
        wrong.push_back(which + " takes " + std::to_string(-record.micro) + " of " +
                        std::to_string(record.before) + " micro-credits back");
      if (record.event != 0 && provisional != 0)
        wrong.push_back(which +
                        " was made while its job ran, and its decision settled once more what it took");
      provisional += record.provisional;
      if (record.event != 0) net.since.clear();
      net.micro += record.micro;
    }
  }
  return wrong;
}

Result<CorrectionPlan> CorrectionReader::Plan() {
  CorrectionPlan plan;
  for (const auto& [host, merge] : merges_)
    if (Joined(host)) plan.joined.push_back(host);
  for (const auto& [result, facts] : facts_) {
    if (facts.last_credit < request_.since || facts.last_credit >= request_.until) continue;
    const bool by_version = request_.target == wire::TargetKind::kAppVersion;
    if (by_version && facts.version && facts.version->value != request_.id) continue;
    if (request_.policy_version != 0 && view_.FindPolicy(facts.app, request_.policy_version) == nullptr)
      return Status::InvalidArgument("app " + std::to_string(facts.app.value) + " of project " +
                                     std::to_string(request_.project.value) + " never had version " +
                                     std::to_string(request_.policy_version) + " of a policy");
    ++plan.results;
    PlanResult(result, facts, plan);
  }
  if (plan.results == 0) return Status::NotFound("the ledger has no credit of what is asked for");
  return plan;
}

json CorrectionPlanJson(const CorrectionPlan& plan) {
  json rows = json::array();
  for (const PlannedCorrection& one : plan.corrections) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string hex;
    for (const char c : wire::EncodeEvent(one.event)) {
      hex.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
      hex.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
    }
    rows.push_back({{"result", one.result.value},
                    {"user", one.entry.user.value},
                    {"host", one.entry.host.value},
                    {"team", one.entry.team.value},
                    {"app", one.entry.app.value},
                    {"before_micro", one.entry.credit_micro},
                    {"after_micro", one.after},
                    {"before", view::MicroText(one.entry.credit_micro)},
                    {"after", view::MicroText(one.after)},
                    {"recent_average_off", view::Number(one.recent_off)},
                    {"event_id", one.event.head.id},
                    {"event", hex}});
  }
  json problems = json::array();
  for (const auto& [result, why] : plan.problems)
    problems.push_back({{"result", result.value}, {"why", why}});
  json joined = json::array();
  for (const HostId host : plan.joined) joined.push_back(host.value);
  return {{"corrections", rows},
          {"hosts_joined", joined},
          {"problems", problems},
          {"results", plan.results},
          {"unchanged", plan.unchanged}};
}

}  // namespace cobblestone
