#include "services/audit/estimate_audit.h"

#include <algorithm>
#include <utility>

#include "common/credit/model/constants.h"
#include "common/credit/model/flops.h"
#include "common/stream/state_codec.h"
#include "services/accounts/accounts_stage.h"

namespace cobblestone::audit {
namespace {

using stream::Key;

std::string Name(std::uint32_t project, std::uint64_t user, std::uint64_t host) {
  return "estimates of host " + std::to_string(host) + " of user " + std::to_string(user) + " of project " +
         std::to_string(project);
}

std::string NameOfUser(std::uint32_t project, std::uint64_t user) {
  return "estimates of user " + std::to_string(user) + " of project " + std::to_string(project);
}

std::string MicroText(credit::MicroTotal value) { return std::to_string(static_cast<long long>(value)); }

// The difference of `state` and `records`.
template <class Sums>
std::string Off(const Sums& state, const Sums& records) {
  const auto more = [](std::uint64_t a, std::uint64_t b) {
    return std::to_string(static_cast<std::int64_t>(a - b));
  };
  return MicroText(state.micro - records.micro) + " micro-credits, " +
         MicroText(state.run_time - records.run_time) + " microseconds and " +
         more(state.jobs, records.jobs) +
         " jobs; failed jobs: " + more(state.failed_jobs, records.failed_jobs) + " and " +
         MicroText(state.failed_run_time - records.failed_run_time) + " microseconds";
}

}  // namespace

void EstimateAudit::AddRecord(const wire::Grant& grant, credit::EstimateSums& sums) {
  for (const wire::EstimatedUse& use : grant.estimate->uses)
    credit::AddEstimate({.credit = use.credit_micro,
                         .run_time = credit::CountOf(use.run_time).value_or(0),
                         .jobs = use.jobs,
                         .failed_jobs = use.failed_jobs,
                         .failed_run_time = credit::CountOf(use.failed_run_time).value_or(0)},
                        grant.head.time, sums);
}

EstimateAudit::OfOwner EstimateAudit::NowOf(OfOwner owner) const {
  for (auto next = became_.find(owner); next != became_.end(); next = became_.find(owner))
    std::get<2>(owner) = next->second;
  return owner;
}

std::string EstimateAudit::Save() const {
  Saved saved;
  for (const auto& [owner, sums] : ledger_)
    saved.owners.push_back({std::get<0>(owner), std::get<1>(owner), std::get<2>(owner), sums});
  saved.machines = machines_;
  for (auto& [number, machine] : saved.machines) machine.records -= machine.behind;
  std::string bytes;
  stream::EncodeState(saved, bytes);
  return bytes;
}

bool EstimateAudit::Continue(std::string_view bytes) {
  Saved saved;
  stream::StateReader reader(bytes);
  reader(saved);
  if (!reader.done()) return false;
  for (const SavedOwner& one : saved.owners)
    credit::Add(one.sums, ledger_[NowOf({one.project, one.user, one.host})]);
  machines_ = std::move(saved.machines);
  return true;
}

Status EstimateAudit::Look(const view::Rows& rows) {
  using accounts::HostAccount;
  Status s = view::ForEach(rows, accounts::kHostsTable, [&](const Key& key, const HostAccount& host) {
    if (host.merge.done) became_[{key.project, host.user.value, key.id}] = host.merge.into.value;
    return Status::Ok();
  });
  if (!s.ok()) return s;
  s = view::ForEach(rows, accounts::kHostEstimatesTable,
                    [&](const Key& key, accounts::HostEstimates& host) -> Status {
                      for (credit::OwnerEstimates& owner : host.owners) {
                        Status older = view::AddOlderDays(rows, accounts::kHostEstimateDaysTable, key,
                                                          owner.sums.days, host.NumberOf(owner));
                        if (!older.ok()) return older;
                        if (owner.sums == credit::EstimateSums{})
                          continue;  // moved to the host that this host became
                        state_[{key.project, owner.user.value, key.id}] = owner.sums;
                        if (owner.user) open_of_hosts_[{key.project, owner.user.value}] += owner.open();
                      }
                      return Status::Ok();
                    });
  if (!s.ok()) return s;
  s = view::ForEach(
      rows, accounts::kUserEstimatesTable, [&](const Key& key, credit::UserEstimates& user) -> Status {
        Status older = view::AddOlderDays(rows, accounts::kUserEstimateDaysTable, key, user.sums.days);
        if (!older.ok()) return older;
        users_[{key.project, key.id}] = user.sums;
        open_[{key.project, key.id}] = user.open;
        return Status::Ok();
      });
  if (!s.ok()) return s;
  s = view::ForEach(
      rows, accounts::kProjectEstimatesTable, [&](const Key& key, accounts::ProjectEstimates& project) {
        Status older = view::AddOlderDays(rows, accounts::kProjectEstimateDaysTable, key, project.sums.days);
        if (older.ok()) credit::Add(project.sums, projects_[key.project]);
        return older;
      });
  if (!s.ok()) return s;
  // `order: lockstep`: these grants are in the ledger and are applied at the next barrier.
  return view::ForEach(rows, accounts::kBufferedTable, [&](const Key&, const accounts::BufferedGrant& one) {
    wire::Grant grant;
    if (!wire::DecodeGrant(one.bytes, &grant) || !grant.estimate) return Status::Ok();
    AddRecord(grant, state_[OwnerOf(grant.head)]);
    if (grant.head.user) AddRecord(grant, users_[{grant.head.project.value, grant.head.user.value}]);
    AddRecord(grant, projects_[grant.head.project.value]);
    return Status::Ok();
  });
}

void EstimateAudit::Take(const wire::Grant& grant, const std::string& where, bool behind) {
  if (!grant.estimate) return problem_(where + ": the estimate has no report");
  const wire::Estimate& estimate = *grant.estimate;
  Machine& machine = machines_[estimate.machine];
  machine.since = machine.records == 0 ? estimate.since : std::min(machine.since, estimate.since);
  machine.newest = std::max(machine.newest, grant.head.time);
  machine.flops = std::max(machine.flops, estimate.flops);
  ++machine.records;
  machine.behind += behind ? 1 : 0;
  if (behind) return;
  ++records_;
  machine.allowed += estimate.allowed_micro;
  credit::MicroTotal sum = 0;
  for (const wire::EstimatedUse& use : estimate.uses) {
    sum += use.credit_micro;
    if (use.failed_jobs > use.jobs || use.failed_run_time > use.run_time)
      problem_(where + ": the number of failed jobs exceeds the number of jobs");
  }
  if (grant.head.credit_micro != 0)
    problem_(where + ": the estimate has credit, but estimates award no credit");
  if (sum != estimate.allowed_micro || estimate.allowed_micro > estimate.asked_micro)
    problem_(where + ": allows " + std::to_string(estimate.allowed_micro) + " micro-credits of " +
             std::to_string(estimate.asked_micro) + ", but the sum of the resources is " + MicroText(sum));
  AddRecord(grant, ledger_[OwnerOf(grant.head)]);
}

// Reports the difference of the sums, or else the first day that differs: one day's record may be lost and
// another day's counted twice.
void EstimateAudit::Compare(const std::string& whose, const credit::EstimateSums& state,
                            const credit::EstimateSums& records) {
  if (state == records) return;
  const auto without_days = [](credit::EstimateSums sums) {
    sums.days.clear();
    return sums;
  };
  if (without_days(state) != without_days(records))
    return problem_(whose + ": differ by " + Off(state, records) + " from the records");
  std::map<std::int64_t, std::pair<credit::EstimateDay, credit::EstimateDay>> days;
  for (const credit::EstimateDay& one : state.days) days[one.day].first = one;
  for (const credit::EstimateDay& one : records.days) days[one.day].second = one;
  std::erase_if(days, [](const auto& day) { return day.second.first == day.second.second; });
  if (days.empty()) return problem_(whose + ": the days are not in order");
  const auto& [day, both] = *days.begin();
  problem_(whose + ": the total is correct, but UNIX day " + std::to_string(day) + " differs by " +
           Off(both.first, both.second) + " from the records, the first of " + std::to_string(days.size()) +
           " such days");
}

void EstimateAudit::Check() {
  std::map<OfUser, credit::EstimateSums> of_users;
  std::map<std::uint32_t, credit::EstimateSums> of_projects;
  for (const auto& [owner, sums] : ledger_) {
    const auto& [project, user, host] = owner;
    const auto found = state_.find(owner);
    if (found == state_.end())
      problem_(Name(project, user, host) + ": are in the ledger but have no row");
    else
      Compare(Name(project, user, host), found->second, sums);
    if (user != 0) credit::Add(sums, of_users[{project, user}]);
    credit::Add(sums, of_projects[project]);
  }
  for (const auto& [owner, sums] : state_)
    if (!ledger_.contains(owner))
      problem_(Name(std::get<0>(owner), std::get<1>(owner), std::get<2>(owner)) +
               ": have no record in the ledger");
  for (const auto& [user, sums] : of_users) users_.try_emplace(user);
  for (const auto& [user, sums] : users_) Compare(NameOfUser(user.first, user.second), sums, of_users[user]);
  for (const auto& [user, open] : open_of_hosts_) open_.try_emplace(user);
  for (const auto& [user, open] : open_)
    if (open != open_of_hosts_[user])
      problem_(NameOfUser(user.first, user.second) + ": " + MicroText(open) +
               " micro-credits are not granted yet, but for the user's hosts " +
               MicroText(open_of_hosts_[user]));
  for (const auto& [project, sums] : of_projects) projects_.try_emplace(project);
  for (const auto& [project, sums] : projects_)
    Compare("estimates of project " + std::to_string(project), sums, of_projects[project]);
  for (const auto& [number, machine] : machines_) {
    const double most = credit::CreditOfFlops(machine.flops, credit::Constants{}) * 1e6 *
                        std::max(machine.newest - machine.since, 0.0);
    // Each record rounds the saved and the spent time.
    if (static_cast<double>(machine.allowed) > most * (1 + 1e-9) + static_cast<double>(machine.records))
      problem_("machine " + std::to_string(number) + ": all projects together were allowed " +
               MicroText(machine.allowed) + " micro-credits, but the limit is " + std::to_string(most));
  }
}

}  // namespace cobblestone::audit
