#include "services/corrections/correction_worth.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/credit/accounts/account.h"
#include "common/credit/accounts/correction.h"
#include "common/credit/policies/worth_if_valid.h"
#include "services/corrections/trickle_spans.h"

namespace cobblestone::corrections {

namespace {

using credit::MicroCredit;
using credit::MicroTotal;

// The job's grant under the version; none: `problem` contains the reason.
std::optional<MicroCredit> RepriceGrant(const LedgerResult& result, const ReplicaGrants& replicas,
                                        const stage::ProjectView& view, std::uint32_t version,
                                        std::string* problem) {
  const wire::Grant* grant = &*result.final;
  if ((grant->head.flags & credit::kGrantLate) != 0) {
    // A late result got the amount of its workunit's other results.
    const auto on_time = std::find_if(replicas.begin(), replicas.end(), [&](const auto& one) {
      return one.second.claim->workunit == result.workunit &&
             (one.second.head.flags & credit::kGrantLate) == 0;
    });
    if (on_time == replicas.end()) {
      *problem = "the result was late, and no other result of its workunit has a grant";
      return std::nullopt;
    }
    grant = &on_time->second;
  }
  std::vector<credit::RecordedClaim> claims;
  const auto add = [&](const credit::Claim& claim, bool whole) {
    const credit::PolicyVersion* then = view.FindPolicy(claim.app, claim.policy_version);
    if (then == nullptr) return;
    claims.push_back({.claim = claim, .whole = whole, .benchmark = then->constants.benchmark});
  };
  add(*grant->claim, true);
  for (const wire::OtherClaim& other : grant->others) {
    const auto own = replicas.find(other.result.value);
    const bool whole = own != replicas.end() && own->second.claim->workunit == result.workunit &&
                       own->second.claim->host == other.host;
    add(whole ? *own->second.claim : wire::ClaimOf(other, *grant->claim), whole);
  }
  if (claims.size() != grant->others.size() + 1) {
    *problem = kVersionUnknown;
    return std::nullopt;
  }
  std::sort(claims.begin(), claims.end(),
            [](const auto& a, const auto& b) { return a.claim.result < b.claim.result; });
  const credit::Repriced repriced =
      credit::Reprice(claims, grant->detail.max_granted_credit, *view.FindPolicy(result.app, version));
  *problem = repriced.problem;
  return repriced.problem.empty() ? std::optional(repriced.micro) : std::nullopt;
}

// An owner's part of a job's trickles: the worth of the spans that the owner's trickles added to the marks.
struct OwnTrickles {
  MicroTotal on_time = 0;
  MicroTotal taken = 0;  // part of on_time that operators reversed while the job ran
  MicroTotal late = 0;   // after the decision
};

// `grant`: the job's grant under the version. Late trickles are paid only beyond the grant.
std::map<ResultOwner, OwnTrickles> OwnOf(const TrickleSpans& spans, MicroCredit grant) {
  std::map<ResultOwner, OwnTrickles> own;
  for (const TrickleSpan& span : spans.spans) {
    OwnTrickles& its = own[span.owner];
    if (span.record->late())
      its.late += std::max(grant, span.end) - std::max(grant, span.begin);
    else
      its.on_time += span.end - span.begin;
    if (span.taken) its.taken += span.end - span.begin;
  }
  return own;
}

// An owner's credit from the pipeline, including corrections of the running job.
struct Granted {
  MicroTotal all = 0;
  MicroTotal late = 0;  // part of `all`, by trickles after the decision
  bool paid = false;    // by trickles before the decision
  bool taken = false;   // operators reversed a part of these payments while the job ran
};
Granted GrantedTo(const std::vector<ResultRecord>& records) {
  Granted granted;
  for (const ResultRecord& record : records) {
    if (record.event != 0 && !record.while_running()) continue;
    granted.all += record.micro;
    granted.taken = granted.taken || (record.while_running() && record.repriced == 0);
    if (record.partial() && record.late()) granted.late += record.micro;
    granted.paid = granted.paid || (record.partial() && !record.late());
  }
  return granted;
}

// The reason why the result is not repriced, at any price; empty: it may be repriced.
std::string TakenBack(const LedgerResult& result) {
  for (const auto& [owner, records] : result.owners)
    if (std::any_of(records.begin(), records.end(), [](const auto& one) { return one.of_invalid(); }))
      return "the result was judged invalid and reinstated by an operator, at the price of the time "
             "of the judgement";
  if (result.final) {
    const wire::GrantHead& final = result.final->head;
    const auto own = result.owners.find({final.host, final.user});
    if (own == result.owners.end()) return "";
    const std::vector<TeamShare> shares = SharesOf(result, own->first);
    const bool uncounted =
        std::any_of(shares.begin(), shares.end(), [](const TeamShare& one) { return one.uncounted; });
    return uncounted ? "the grant was reversed" : "";
  }
  for (const auto& [owner, records] : result.owners)
    for (const TeamShare& share : SharesOf(result, owner))
      if (share.taken != 0) return "the trickle payments were reversed";
  return "";
}

}  // namespace

MicroTotal Provisional(const std::vector<ResultRecord>& records) {
  MicroTotal sum = 0;
  for (const ResultRecord& record : records) sum += record.provisional;
  return sum;
}

std::size_t LedgerResult::PlaceOf(const std::string& variety, const credit::TricklePrice& price) {
  auto its =
      std::find_if(prices.begin(), prices.end(), [&](const auto& one) { return one.first == variety; });
  if (its == prices.end()) its = prices.emplace(its, variety, price);
  return static_cast<std::size_t>(its - prices.begin());
}

bool LedgerResult::Runs() const {
  return std::any_of(owners.begin(), owners.end(), [](const auto& owner) {
    bool runs = false;
    for (const ResultRecord& record : owner.second)
      runs = !record.settles() && (runs || (record.partial() && !record.late()));
    return runs;
  });
}

std::uint32_t LedgerResult::Repriced() const {
  std::uint32_t number = 0;
  for (const auto& [owner, records] : owners)
    for (const ResultRecord& record : records) number = std::max(number, record.repriced);
  return number;
}

std::uint32_t LedgerResult::VersionInForce() const {
  const std::uint32_t number = Repriced();
  for (const auto& [owner, records] : owners)
    for (const ResultRecord& record : records)
      if (record.while_running() && record.repriced == number && number != 0) return record.policy_version;
  return prices[0].second.rule_version;
}

namespace {

wire::LedgerEntry EntryOf(const LedgerResult& result, const ResultOwner& owner, TeamId team) {
  return {.user = owner.user,
          .host = owner.host,
          .team = team,
          .workunit = result.workunit,
          .app = result.app,
          .app_version = result.version};
}

void Put(const credit::RecentAverage& average, wire::LedgerEntry& entry) {
  entry.recent = average.value;
  entry.recent_time = average.time;
}

}  // namespace

void PaidSums::Add(const ResultRecord& record) {
  if (!record.while_running()) {
    paid += record.micro;
  } else if (record.repriced != 0) {
    waited = record.waited ? record.taken : 0;
    taken = record.taken - waited;
    paid = record.paid - waited;
  } else if (record.waited) {
    paid -= MoreBy(record);
    waited = record.paid;
  } else {
    taken = record.paid;
  }
}

std::vector<RunningShare> RunningSharesOf(const LedgerResult& result, const ResultOwner& owner) {
  std::vector<RunningShare> shares;
  std::vector<credit::RecentAverage> averages;
  const auto records = result.owners.find(owner);
  if (records == result.owners.end()) return shares;
  for (const ResultRecord& record : records->second) {
    if (record.settles()) {
      shares.clear();
      averages.clear();
    }
    const bool paid = record.partial() && !record.late();
    if (!paid && !record.while_running()) continue;
    auto found = std::find_if(shares.begin(), shares.end(),
                              [&](const RunningShare& one) { return one.entry.team == record.team; });
    if (found == shares.end()) {
      found = shares.insert(found, {.entry = EntryOf(result, owner, record.team)});
      averages.emplace_back();
    }
    found->entry.credit_micro += record.micro;
    credit::RecentAverage& average = averages[static_cast<std::size_t>(found - shares.begin())];
    found->sums.Add(record);
    if (paid) {
      credit::AddToShare(record.micro, record.time, average);
    } else {
      found->entry.previous = record.event;
      credit::TakeFromShare(record.recent_off, record.time, average);
    }
  }
  for (std::size_t i = 0; i < shares.size(); ++i) Put(averages[i], shares[i].entry);
  return shares;
}

std::vector<TeamShare> SharesOf(const LedgerResult& result, const ResultOwner& owner) {
  std::vector<TeamShare> shares;
  std::vector<credit::RecentAverage> averages;
  const auto records = result.owners.find(owner);
  if (records == result.owners.end()) return shares;
  for (const ResultRecord& record : records->second) {
    if (record.event == 0 && record.micro == 0 && record.kind != wire::GrantKind::kFinal)
      continue;  // a settlement that keeps all payments: it is posted to no team
    auto found = std::find_if(shares.begin(), shares.end(),
                              [&](const TeamShare& one) { return one.entry.team == record.team; });
    if (found == shares.end()) {
      found = shares.insert(found, {.entry = EntryOf(result, owner, record.team)});
      averages.emplace_back();
    }
    wire::LedgerEntry& entry = found->entry;
    entry.credit_micro += record.micro;
    if (record.kind == wire::GrantKind::kFinal) entry.counted = true;
    if ((record.flags & credit::kGrantUncounts) != 0) entry.counted = false;
    if ((record.flags & credit::kGrantRecounts) != 0) entry.counted = true;
    if (record.reinstates()) {
      found->uncounted = false;
      found->lost = {};
    } else if (record.event != 0 && !record.while_running() && record.kind == wire::GrantKind::kReversal) {
      found->uncounted = found->uncounted || (record.flags & credit::kGrantUncounts) != 0;
      credit::TakeFromShare(-record.recent_off, record.time, found->lost);
    }
    // Only these: ACCOUNTS compares `previous`, and does not know corrections of running jobs.
    if (record.event != 0 && !record.while_running()) entry.previous = record.event;
    if (record.event == 0 || record.while_running() || record.of_invalid())
      found->granted += record.micro;
    else if (record.kind == wire::GrantKind::kReversal || record.reinstates())
      found->taken += record.micro;
    credit::RecentAverage& average = averages[static_cast<std::size_t>(found - shares.begin())];
    if (record.event != 0 || record.micro < 0) {
      credit::TakeFromShare(record.recent_off, record.time, average);
    } else if (record.micro > 0) {
      credit::AddToShare(record.micro, record.time, average);
    }
  }
  for (std::size_t i = 0; i < shares.size(); ++i) Put(averages[i], shares[i].entry);
  return shares;
}

std::optional<InvalidWorth> WorthOfInvalid(const wire::Grant& invalid, const ReplicaGrants& replicas) {
  const auto worth = [](double credit, ResultId like) -> std::optional<InvalidWorth> {
    bool ok = true;
    const MicroCredit micro = credit::RoundToMicro(credit, &ok);
    return ok && micro >= 0 ? std::optional(InvalidWorth{.micro = micro, .like_result = like}) : std::nullopt;
  };
  const credit::Claim& claim = *invalid.claim;
  for (const auto& [id, grant] : replicas)  // all of them got the same amount
    if (grant.claim->workunit == claim.workunit && grant.head.result != claim.result)
      return worth(grant.detail.credit, grant.head.result);
  if (!credit::StatesWorth(claim)) return std::nullopt;
  return worth(invalid.detail.credit, ResultId());
}

MicroTotal PaidByTrickles(const LedgerResult& result) {
  MicroTotal paid = 0;
  for (const auto& [owner, records] : result.owners)
    for (const ResultRecord& record : records)
      if (record.event == 0 && record.kind != wire::GrantKind::kFinal) paid += record.micro;
  return paid;
}

std::vector<MicroTotal> Spread(const std::vector<TeamShare>& shares, MicroTotal brought) {
  std::vector<MicroTotal> each;
  std::vector<std::size_t> order;
  MicroTotal change = brought;
  for (std::size_t i = shares.size(); i-- > 0;) order.push_back(i);
  for (const TeamShare& share : shares) {
    each.push_back(share.granted);
    change -= share.granted;
  }
  std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return shares[i].entry.counted; });
  for (const std::size_t i : order) {
    const MicroTotal all_of_it = -std::max<MicroTotal>(each[i], 0);
    const MicroTotal here = change > 0 || i == order.back() ? change : std::max(change, all_of_it);
    each[i] += here;
    change -= here;
  }
  return each;
}

RepricedCredit RepriceResult(const LedgerResult& result, const ReplicaGrants& replicas,
                             const stage::ProjectView& view, std::uint32_t version) {
  RepricedCredit repriced;
  const auto cannot = [](std::string why) { return RepricedCredit{.problem = std::move(why)}; };
  std::map<ResultOwner, Granted> granted;
  MicroTotal late = 0;
  std::ptrdiff_t paid = 0;       // owners that trickles paid before the decision
  std::ptrdiff_t paid_late = 0;  // owners that trickles paid after the decision
  bool taken = false;            // operators reversed a part of `paid` while the job ran
  for (const auto& [owner, records] : result.owners) {
    const Granted& its = granted[owner] = GrantedTo(records);
    late += its.late;
    paid += its.paid ? 1 : 0;
    paid_late += its.late != 0 ? 1 : 0;
    taken = taken || its.taken;
  }
  if (!result.final && result.prices.empty()) return cannot("the result has no grant to reprice");
  if (auto why = TakenBack(result); !why.empty()) return cannot(std::move(why));
  std::string problem;
  std::optional<MicroCredit> grant = 0;
  if (result.final) grant = RepriceGrant(result, replicas, view, version, &problem);
  if (!grant) return cannot(std::move(problem));

  TrickleWorth was;
  TrickleWorth now;
  MicroTotal late_now = 0;
  std::map<ResultOwner, OwnTrickles> own;  // if amounts of several owners, or of reversed trickles, change
  std::set<ResultOwner> of_late;
  for (const CoveredTrickle& one : result.covered) of_late.insert(one.owner);
  for (const auto& [owner, its] : granted)
    if (its.late != 0) of_late.insert(owner);
  if (!result.prices.empty()) {
    if (result.resent) return cannot("the result was sent more than once, with trickle payments each time");
    const credit::PolicyVersion* then = view.FindPolicy(result.app, result.prices[0].second.rule_version);
    if (then == nullptr) return cannot(kVersionUnknown);
    const credit::PolicyVersion* in_force = view.FindPolicy(result.app, result.VersionInForce());
    if (in_force == nullptr) return cannot(kVersionUnknown);
    was = RepriceTrickleWorth(result, *then, *in_force);
    now = RepriceTrickleWorth(result, *then, *view.FindPolicy(result.app, version));
    for (const TrickleWorth* one : {&was, &now})
      if (!one->problem.empty()) return cannot(one->problem);
    // Late trickles pay their worth beyond the grant and the earlier trickles.
    late_now = std::max(*grant, now.all) - std::max(*grant, now.before);
    if (late_now != late && !result.covered.empty() &&
        (of_late.size() > 1 || !granted.contains(*of_late.begin())))
      return cannot(
          "a trickle after the decision, which the grant covered, is worth more than the grant "
          "by this version");
    if ((now.before != was.before && (paid > 1 || taken)) || (late_now != late && paid_late > 1)) {
      if (result.owners.begin()->first.host != result.owners.rbegin()->first.host)
        return cannot("the trickles were paid to several owners of several hosts");
      const TrickleSpans spans = RepriceSpans(result, *then, *view.FindPolicy(result.app, version));
      if (!spans.problem.empty()) return cannot(spans.problem);
      own = OwnOf(spans, *grant);
    }
  }

  credit::Claim claim;
  if (result.final) claim = *result.final->claim;
  if (own.empty() && now.before != was.before && claim.paid.size() == 1) claim.paid[0].micro = now.before;
  if (!own.empty())
    for (credit::PaidPartial& one : claim.paid) {
      const OwnTrickles& its = own[{claim.host, one.user}];
      one.micro = static_cast<MicroCredit>(its.on_time);
      one.reversed = static_cast<MicroCredit>(its.taken);
    }
  for (const auto& [owner, its] : granted) {
    MicroTotal& brought = repriced.brought[owner] = its.all;
    if (result.final && owner.host != result.final->head.host) continue;
    MicroTotal on_time = its.all - its.late;
    if (result.final) {
      on_time = credit::CreditTo(owner.user, claim, *grant);
      for (const credit::PaidPartial& one : claim.paid)
        if (one.user == owner.user) on_time -= one.reversed;
    } else if (on_time != 0 && !own.empty()) {
      on_time = own[owner].on_time - own[owner].taken;  // settlement `keep`
    } else if (on_time != 0 && now.before != was.before) {
      on_time = now.before;
    }
    if (!own.empty())
      brought = on_time + own[owner].late;
    else
      brought = on_time + (late_now == late ? its.late : of_late.contains(owner) ? late_now : 0);
  }
  return repriced;
}

}  // namespace cobblestone::corrections
