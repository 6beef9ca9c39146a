#include "tests/support/outcome_of.h"

#include <map>
#include <stdexcept>
#include <string>

namespace cobblestone::testing {

using pipeline::PipelineSlot;

namespace {

// A project's estimates must be the sums of its hosts in the same partition.
void CheckProjectEstimates(accounts::AccountsStage& stage) {
  std::map<std::uint32_t, accounts::ProjectEstimates> of_hosts;
  stage.host_estimates().ForEach([&](const stream::Key& key, const accounts::HostEstimates& host) {
    accounts::ProjectEstimates& sum = of_hosts[key.project];
    for (const credit::OwnerEstimates& owner : stage.Whole(key, host).owners) {
      credit::Add(owner.sums, sum.sums);
      sum.open += owner.open();
    }
  });
  stage.project_estimates().ForEach([&](const stream::Key& key, const accounts::ProjectEstimates& project) {
    const accounts::ProjectEstimates whole = stage.Whole(key, project);
    const auto hosts = of_hosts.find(key.project);
    if (hosts == of_hosts.end() || whole.sums != hosts->second.sums || whole.open != hosts->second.open)
      throw std::runtime_error("estimates of project " + std::to_string(key.project) +
                               " are not those of its hosts");
    of_hosts.erase(hosts);
  });
  if (!of_hosts.empty())
    throw std::runtime_error("a project has no estimates: " + std::to_string(of_hosts.begin()->first));
}

}  // namespace

Outcome OutcomeOf(std::span<PipelineSlot> slots, std::span<const std::string> ledger,
                  std::span<const std::string> refused) {
  Outcome outcome;
  for (const std::string& grant : ledger) {
    if (!AddLedgerRecord(grant, &outcome)) throw std::runtime_error("a record of the ledger is not a grant");
  }
  for (const std::string& record : refused) {
    if (!AddRefusedRecord(record, &outcome))
      throw std::runtime_error("a record of `refused` is not a refusal");
  }
  const auto add = [&outcome](OracleAccountKind kind, const stream::Key& key,
                              const credit::Account& account) {
    if (account.grants == 0 && account.total_micro == 0 && account.opening_micro == 0 && account.apps.empty())
      return;
    const auto [at, is_first] =
        outcome.accounts.emplace(AccountKey{key.project, kind, key.id}, AccountOutcome{});
    if (!is_first)
      throw std::runtime_error("an account is in two partitions: number " + std::to_string(key.id));
    AccountOutcome& sum = at->second;
    sum.micro += account.total_micro;
    sum.provisional += account.provisional_micro;
    sum.shown += account.shown_micro();
    sum.grants += account.grants;
    for (const credit::AppSum& app : account.apps) {
      sum.apps[app.app.value].first += app.micro;
      sum.apps[app.app.value].second += app.grants;
    }
    for (const credit::DaySum& day : account.days) sum.days[day.day] = {day.micro, day.grants};
  };
  for (PipelineSlot& slot : slots) {
    if (slot.stages.accounts == nullptr) continue;
    slot.stages.accounts->hosts().ForEach([&](const stream::Key& key, const accounts::HostAccount& host) {
      add(OracleAccountKind::kHost, key, slot.stages.accounts->Whole(key, host).account);
    });
    slot.stages.accounts->host_estimates().ForEach([&](const stream::Key& key,
                                                       const accounts::HostEstimates& host) {
      for (const credit::OwnerEstimates& owner : slot.stages.accounts->Whole(key, host).owners) {
        if (owner.sums == credit::EstimateSums{}) continue;  // of a merged host
        const auto [at, is_first] =
            outcome.estimates.emplace(EstimateKey{key.project, owner.user.value, key.id}, EstimateOutcome{});
        if (!is_first)
          throw std::runtime_error("estimates are in two partitions: host " + std::to_string(key.id));
        EstimateOutcome& sum = at->second;
        sum.micro = owner.sums.micro;
        sum.run_time = owner.sums.run_time;
        sum.jobs = owner.sums.jobs;
        sum.failed_jobs = owner.sums.failed_jobs;
        sum.failed_run_time = owner.sums.failed_run_time;
        sum.granted = owner.granted;
        for (const credit::EstimateDay& day : owner.sums.days)
          sum.days[day.day] = {.micro = day.micro,
                               .run_time = day.run_time,
                               .jobs = day.jobs,
                               .failed_jobs = day.failed_jobs,
                               .failed_run_time = day.failed_run_time};
      }
    });
    CheckProjectEstimates(*slot.stages.accounts);
    slot.stages.accounts->users().ForEach([&](const stream::Key& key, const accounts::UserState& user) {
      add(OracleAccountKind::kUser, key, slot.stages.accounts->Whole(key, user).account);
    });
    slot.stages.teams->teams().ForEach([&](const stream::Key& key, const teams::TeamState& team) {
      add(OracleAccountKind::kTeam, key, slot.stages.teams->Whole(key, team).account);
    });
  }
  return outcome;
}

}  // namespace cobblestone::testing
