#include "services/cobblestone/estimate_audit.h"

#include <algorithm>
#include <utility>

#include "common/credit/constants.h"
#include "common/credit/flops.h"

namespace cobblestone {
namespace {

std::string Name(std::uint32_t project, std::uint64_t user, std::uint64_t host) {
  return "estimates of host " + std::to_string(host) + " of user " + std::to_string(user) + " of project " +
         std::to_string(project);
}

// All but the days.
void AddNumbers(const credit::EstimateSums& more, int times, credit::EstimateSums& sums) {
  sums.micro += times * more.micro;
  sums.run_time += times * more.run_time;
  sums.jobs += static_cast<std::uint64_t>(times) * more.jobs;
  sums.failed_jobs += static_cast<std::uint64_t>(times) * more.failed_jobs;
  sums.failed_run_time += times * more.failed_run_time;
}

std::string Text(credit::MicroTotal value) { return std::to_string(static_cast<long long>(value)); }

}  // namespace

void EstimateAudit::AddRecord(const wire::Grant& grant, std::map<OfOwner, credit::EstimateSums>& to) const {
  OfOwner owner{grant.head.project.value, grant.head.user.value, grant.head.host.value};
  for (auto next = became_.find(owner); next != became_.end(); next = became_.find(owner))
    std::get<2>(owner) = next->second;
  credit::EstimateSums& sums = to[owner];
  for (const wire::EstimatedUse& use : grant.estimate->uses)
    credit::AddEstimate({.credit = use.credit_micro,
                         .run_time = credit::CountOf(use.run_time).value_or(0),
                         .jobs = use.jobs,
                         .failed_jobs = use.failed_jobs,
                         .failed_run_time = credit::CountOf(use.failed_run_time).value_or(0)},
                        grant.head.time, sums);
}

Status EstimateAudit::Look(accounts::AccountsStage& stage) {
  Status s = stage.hosts().ForEachStored([&](const stream::Key& key, const accounts::HostAccount& host) {
    if (host.merge.done) became_[{key.project, host.user.value, key.id}] = host.merge.into.value;
  });
  if (!s.ok()) return s;
  s = stage.host_estimates().ForEachStored([&](const stream::Key& key, const accounts::HostEstimates& host) {
    any_ = true;
    for (const credit::OwnerEstimates& owner : stage.Whole(key, host).owners) {
      if (owner.sums == credit::EstimateSums{}) continue;  // they went to the host that this one became
      state_[{key.project, owner.user.value, key.id}] = owner.sums;
      open_[{key.project, owner.user.value}] += owner.open();
    }
  });
  if (!s.ok()) return s;
  s = stage.user_estimates().ForEachStored([&](const stream::Key& key, const credit::UserEstimates& user) {
    users_[{key.project, key.id}] = user;
  });
  s = stage.project_estimates().ForEachStored(
      [&](const stream::Key& key, const accounts::ProjectEstimates& project) {
        AddNumbers(project.sums, 1, projects_[key.project]);
      });
  if (!s.ok()) return s;
  // `order: lockstep`: in the ledger, and applied at the next barrier.
  stage.sorted().ForEach([&](const stream::Key&, const accounts::SortedGrant& one) {
    wire::Grant grant;
    if (!wire::DecodeGrant(one.bytes, &grant) || !grant.estimate) return;
    any_ = true;
    AddRecord(grant, state_);
    // The sums of its user and project are without it, too.
    AddRecord(grant, waiting_);
  });
  return s;
}

void EstimateAudit::Take(const wire::Grant& grant, const std::string& where, bool behind) {
  if (!grant.estimate) return problem_(where + ": is an estimate without its report");
  const wire::Estimate& estimate = *grant.estimate;
  Machine& machine = machines_[estimate.machine];
  machine.since = machine.records == 0 ? estimate.since : std::min(machine.since, estimate.since);
  machine.newest = std::max(machine.newest, grant.head.time);
  machine.flops = std::max(machine.flops, estimate.flops);
  ++machine.records;
  if (behind) return;
  ++records_;
  machine.allowed += estimate.allowed_micro;
  credit::MicroTotal sum = 0;
  for (const wire::EstimatedUse& use : estimate.uses) {
    sum += use.credit_micro;
    if (use.failed_jobs > use.jobs || use.failed_run_time > use.run_time)
      problem_(where + ": more jobs have failed than there were");
  }
  if (grant.head.credit_micro != 0) problem_(where + ": an estimate awards nothing, and this one does");
  if (sum != estimate.allowed_micro || estimate.allowed_micro > estimate.asked_micro)
    problem_(where + ": allows " + std::to_string(estimate.allowed_micro) + " micro-credits of " +
             std::to_string(estimate.asked_micro) + ", and its resources come to " + Text(sum));
  AddRecord(grant, ledger_);
}

void EstimateAudit::Check() {
  std::map<std::pair<std::uint32_t, std::uint64_t>, credit::EstimateSums> of_users;
  std::map<std::uint32_t, credit::EstimateSums> of_projects;
  for (const auto& [owner, sums] : ledger_) {
    const auto& [project, user, host] = owner;
    const auto found = state_.find(owner);
    if (found == state_.end())
      problem_(Name(project, user, host) + ": are in the ledger and have no row");
    else if (found->second != sums)
      problem_(Name(project, user, host) + ": are off by " + Text(found->second.micro - sums.micro) +
               " micro-credits, " + Text(found->second.run_time - sums.run_time) + " microseconds and " +
               std::to_string(static_cast<std::int64_t>(found->second.jobs - sums.jobs)) +
               " jobs from their records, or in other sums");
    AddNumbers(sums, 1, of_users[{project, user}]);
    AddNumbers(sums, 1, of_projects[project]);
  }
  for (const auto& [owner, sums] : state_)
    if (!ledger_.contains(owner))
      problem_(Name(std::get<0>(owner), std::get<1>(owner), std::get<2>(owner)) + ": have no record");
  for (const auto& [owner, sums] : waiting_) {
    AddNumbers(sums, -1, of_users[{std::get<0>(owner), std::get<1>(owner)}]);
    AddNumbers(sums, -1, of_projects[std::get<0>(owner)]);
  }
  for (const auto& [key, user] : users_) {
    credit::EstimateSums sums;
    AddNumbers(user.sums, 1, sums);
    if (sums != of_users[key] || user.open != open_[key])
      problem_("estimates of user " + std::to_string(key.second) + " of project " +
               std::to_string(key.first) + ": are not those of its hosts");
  }
  for (const auto& [project, sums] : of_projects)
    if (projects_[project] != sums)
      problem_("estimates of project " + std::to_string(project) + ": are not those of its records");
  for (const auto& [number, machine] : machines_) {
    const double most = credit::CreditOfFlops(machine.flops, credit::Constants{}) * 1e6 *
                        std::max(machine.newest - machine.since, 0.0);
    // What was saved and spent was rounded with each record.
    if (static_cast<double>(machine.allowed) > most * (1 + 1e-9) + static_cast<double>(machine.records))
      problem_("machine " + std::to_string(number) + ": all its projects together were believed " +
               Text(machine.allowed) + " micro-credits, and it can have done " + std::to_string(most));
  }
}

}  // namespace cobblestone
