#include "tests/golden/core_world.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "common/base/check.h"
#include "common/credit/policies/boinc.h"
#include "common/credit/policies/host_rows.h"
#include "common/credit/policies/policy.h"

namespace cobblestone::golden {
namespace {

bool Decided(const PresentedResult& result) {
  return result.validation.state != credit::ValidateState::kInconclusive;
}

bool IsValid(const PresentedResult& result) {
  return result.validation.state == credit::ValidateState::kValid;
}

// Item 27: the statement with a number that is not finite fails, and the row keeps its content.
void Store(const DoubleAccount& next, DoubleAccount& account) {
  if (std::isfinite(next.total) && std::isfinite(next.recent.value)) account = next;
}

}  // namespace

World::World(const Start& start) : catalogue_(start.catalogue) {
  for (const MemberHost& host : start.hosts) {
    credit::HostRecord& record = records[host.id.value];
    record.known = true;
    record.user = host.user;
    record.whetstone = host.speed;
    hosts[host.id.value] = {.total = host.total, .recent = host.recent};
    speeds[host.id.value] = host.speed;
    user_of_host[host.id.value] = host.user.value;
  }
  for (const MemberUser& user : start.users) {
    users[user.id.value] = {};
    team_of_user[user.id.value] = user.team.value;
  }
  for (const TeamId team : start.teams) teams[team.value] = {};
  for (const HostRow& opening : start.rows) records[opening.host.value].versions.push_back(opening.row);
  credit::ApplyCatalogue(catalogue_, scales_);
}

credit::ClaimDecision World::Decide(const PresentedResult& result, const Event& event) {
  const credit::Policy& policy = credit::PolicyFor(catalogue_.FindApp(result.completion.app)->policy.kind);
  credit::HostRecord& host = records[result.completion.host.value];
  if (!host.known) host.deleted = true;
  credit::ValidationFacts validation = result.validation;
  validation.pass = passes_[event.workunit.value];
  const credit::InForce in_force{.project = ProjectId(1), .catalogue = catalogue_, .scales = scales_.table};
  if (!Decided(result)) {
    policy.OnInconclusive(result.completion, validation, in_force, host);
    return {};
  }
  credit::ClaimDecision decision = policy.OnValidation(result.completion, validation, in_force, host);
  if (decision.has_sample) samples_.push_back(decision.sample);
  if (decision.has_claim) {
    // An audit computes the price again from the record of the claim.
    credit::Claim again = decision.claim;
    policy.Price(again, catalogue_.FindApp(again.app)->policy.constants);
    COBBLESTONE_CHECK(Same(again.pfc, decision.claim.pfc) && again.mode == decision.claim.mode &&
                          again.flags == decision.claim.flags,
                      "a claim has another price when it is computed again");
  }
  return decision;
}

PassOutcome World::RunPass(const Event& event) {
  PassOutcome outcome;
  passes_[event.workunit.value] += 1;
  const bool late = event.kind == "late";
  const std::size_t count = event.results.size();
  outcome.results.resize(count);
  std::vector<std::size_t> order(count);
  for (std::size_t k = 0; k < count; ++k) order[k] = k;
  std::sort(order.begin(), order.end(), [&event](std::size_t a, std::size_t b) {
    return event.results[a].completion.result < event.results[b].completion.result;
  });

  const credit::AppRow* app = nullptr;
  std::vector<credit::Claim> claims;
  std::vector<std::size_t> claim_of;
  for (const std::size_t k : order) {
    const PresentedResult& result = event.results[k];
    Treated& treated = outcome.results[k];
    treated.outlier = result.validation.runtime_outlier;
    if (!result.success) {
      treated.validate_state = IsValid(result) ? 1 : Decided(result) ? 2 : 0;
      treated.outcome = 3;
      continue;
    }
    treated.validate_state = !Decided(result) ? 4 : IsValid(result) ? 1 : 2;
    if (result.validation.check_failed) treated.outcome = 6;
    app = catalogue_.FindApp(result.completion.app);
    const credit::ClaimDecision decision = Decide(result, event);
    if (!Decided(result)) continue;
    if (records[result.completion.host.value].deleted) treated.validate_state = 0;  // item 21
    if (!decision.has_claim) continue;
    const bool priced = app->policy.kind == credit::PolicyKind::kBoinc || late;
    if (priced) treated.claim = decision.claim;
    // Item 1: stored back on first validation only.
    const bool stored_back = priced && !late && (decision.claim.flags & credit::kClaimOutlier) != 0 &&
                             !records[result.completion.host.value].deleted;
    if (stored_back) treated.outlier = true;
    claims.push_back(decision.claim);
    claim_of.push_back(k);
  }
  if (claims.empty()) return outcome;

  const double cap = catalogue_.settings.max_granted_credit;
  const credit::PolicyKind kind = late ? credit::PolicyKind::kBoinc : app->policy.kind;
  const credit::Settlement set = credit::PolicyFor(kind).Settle(claims, cap, app->policy.constants);
  for (std::size_t c = 0; c < claims.size(); ++c) outcome.results[claim_of[c]].mode_used = set.modes[c];
  if (kind == credit::PolicyKind::kBoinc) {
    outcome.assigned = credit::SettleSet(claims, cap, app->policy.constants).credit;
  }

  const bool any_valid =
      std::any_of(event.results.begin(), event.results.end(),
                  [](const PresentedResult& result) { return result.success && IsValid(result); });
  if (!late && !any_valid) return outcome;
  if (!late && !std::isfinite(set.credit)) {
    outcome.failed = true;
    for (const PresentedResult& result : event.results)
      hosts_of_failed_passes.insert(result.completion.host.value);
    for (Treated& treated : outcome.results) {
      treated.validate_state = 0;
      treated.outlier = false;
    }
    return outcome;
  }
  const double granted = late ? canonical_credit_[event.workunit.value] : set.credit;
  if (late) outcome.canonical = event.canonical_result;
  for (const std::size_t k : order) {
    const PresentedResult& result = event.results[k];
    if (!result.success || !IsValid(result)) continue;
    if (!outcome.canonical) outcome.canonical = result.completion.result;
    if (records[result.completion.host.value].deleted) continue;
    outcome.results[k].granted = granted;
    Grant(result.completion.host, event.now, result.completion.sent_time, granted);
  }
  outcome.canonical_credit = granted;
  canonical_credit_[event.workunit.value] = granted;
  return outcome;
}

void World::Fail(const Event& event) {
  const credit::CompletionFacts& completion = *event.failure;
  const credit::Policy& policy = credit::PolicyFor(catalogue_.FindApp(completion.app)->policy.kind);
  const credit::InForce in_force{.project = ProjectId(1), .catalogue = catalogue_, .scales = scales_.table};
  policy.OnFailure(completion, in_force, records[completion.host.value]);
}

void World::Tick(double now) {
  const bool sorted = std::is_sorted(samples_.begin(), samples_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.time, a.validation_id, a.result) < std::tie(b.time, b.validation_id, b.result);
  });
  COBBLESTONE_CHECK(sorted, "the golden file is not in the order of samples");
  credit::ApplyTick(now, samples_, catalogue_, scales_);
  samples_.clear();
  last_tick_ = now;
}

void World::Change(const Event& event) {
  if (event.max_granted_credit) catalogue_.settings.max_granted_credit = *event.max_granted_credit;
  if (event.added) catalogue_.versions[event.added->id] = *event.added;
  if (event.deleted_version != 0) catalogue_.versions.erase(event.deleted_version);
  credit::ApplyCatalogue(catalogue_, scales_);
}

void World::RestartValidators() {
  samples_.clear();
  credit::ApplyValidatorRestart(scales_);
}

void World::GrantTrickle(HostId host, double now, double work_start, double amount) {
  Grant(host, now, work_start, amount);
}

void World::Grant(HostId host, double now, double work_start, double amount) {
  const auto add = [&](DoubleAccount& account, double total) {
    DoubleAccount next{.total = total, .recent = account.recent};
    credit::UpdateAverage(now, work_start, amount, credit::kRecentAverageHalfLife, next.recent);
    Store(next, account);
  };
  const auto of_host = hosts.find(host.value);
  if (of_host == hosts.end()) return;
  const double old = of_host->second.total;
  add(of_host->second, old + ((old + amount) - old));  // item 22
  const auto of_user = users.find(user_of_host[host.value]);
  if (of_user == users.end()) return;
  add(of_user->second, of_user->second.total + amount);
  const auto of_team = teams.find(team_of_user[of_user->first]);
  if (of_team != teams.end()) add(of_team->second, of_team->second.total + amount);
}

const credit::ValidatorCopy* World::CopyOf(std::uint64_t version) const {
  for (const auto& [app, copies] : scales_.validators) {
    for (const credit::ValidatorCopy& copy : copies) {
      if (copy.version == version) return &copy;
    }
  }
  return nullptr;
}

bool World::FlushFailed(AppId app) const {
  const auto it = scales_.validators.find(app.value);
  if (it == scales_.validators.end()) return false;
  return std::any_of(it->second.begin(), it->second.end(), [this](const credit::ValidatorCopy& copy) {
    const bool finite = std::isfinite(copy.pfc.mean) && std::isfinite(copy.expavg_credit);
    return !finite && copy.expavg_time == last_tick_;
  });
}

const credit::HostVersion* World::Row(HostId host, AppId app, AppVersionId version) const {
  const auto it = records.find(host.value);
  if (it == records.end()) return nullptr;
  return credit::FindHostVersion(const_cast<credit::HostRecord&>(it->second), app, version);
}

}  // namespace cobblestone::golden
