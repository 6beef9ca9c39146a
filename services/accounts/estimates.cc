// Continuous accounting: the part of AccountsStage that keeps what was estimated, and settles it.
#include "services/accounts/estimates.h"

#include "common/wire/grant_codec.h"
#include "services/accounts/accounts_stage.h"

namespace cobblestone::accounts {

using stream::Emitter;
using stream::Key;

namespace {

Key UserKey(const wire::GrantHead& head) {
  return {.project = head.project.value, .id = head.user.value, .sub = 0};
}
Key HostKey(const wire::GrantHead& head) {
  return {.project = head.project.value, .id = head.host.value, .sub = 0};
}

}  // namespace

void AccountsStage::OnEstimate(std::string_view bytes, Emitter& out) {
  wire::Grant record;
  if (!wire::DecodeGrant(bytes, &record) || !record.estimate)
    return out.Fail(Status::Corrupted("an estimate does not decode"));
  const wire::GrantHead& head = record.head;
  HostEstimates& host = host_estimates_.Mutable(HostKey(head));
  credit::OwnerEstimates* owner = host.Of(head.user);
  if (owner == nullptr) {
    owner = &host.owners.emplace_back();
    owner->user = head.user;
  }
  credit::UserEstimates* sums = head.user ? &user_estimates_.Mutable(UserKey(head)) : nullptr;
  const credit::MicroTotal open_before = owner->open();
  for (const wire::EstimatedUse& use : record.estimate->uses) {
    const credit::EstimateCounters counted{
        .credit = use.credit_micro,
        .run_time = credit::CountOf(use.run_time).value_or(0),
        .jobs = use.jobs,
        .failed_jobs = use.failed_jobs,
        .failed_run_time = credit::CountOf(use.failed_run_time).value_or(0)};
    credit::AddEstimate(counted, head.time, owner->sums);
    if (sums != nullptr) credit::AddEstimate(counted, head.time, sums->sums);
  }
  wire::FileOlderDays(HostKey(head), owner->sums.days, host_estimate_days_, host.NumberOf(*owner));
  if (sums == nullptr) return;
  wire::FileOlderDays(UserKey(head), sums->sums.days, user_estimate_days_);
  sums->open += owner->open() - open_before;
  UserState& user = users_.Mutable(UserKey(head));
  user.estimated = true;
  sums->Show(user.account.shown_micro(), user.account.shown_micro());
  List(UserKey(head), user, changed_users_);
}

HostEstimates AccountsStage::Whole(const Key& key, HostEstimates host) {
  for (credit::OwnerEstimates& owner : host.owners)
    wire::AddOlderDays(key, owner.sums.days, host_estimate_days_, host.NumberOf(owner));
  return host;
}

credit::UserEstimates AccountsStage::Whole(const Key& key, credit::UserEstimates user) {
  wire::AddOlderDays(key, user.sums.days, user_estimate_days_);
  return user;
}

void AccountsStage::AddEstimates(const Key& key, wire::Total& total) {
  const credit::UserEstimates* sums = user_estimates_.Find(key);
  if (sums == nullptr) return;
  total.estimated_micro = sums->open;
  total.shown_micro = sums->shown;
}

void AccountsStage::SettleEstimates(const wire::GrantHead& head, UserState* user,
                                    credit::MicroTotal shown_before) {
  if (!wire::IsAward(head.kind)) return;
  credit::UserEstimates* sums = user != nullptr ? &user_estimates_.Mutable(UserKey(head)) : nullptr;
  const HostEstimates* estimated = head.credit_micro > 0 ? host_estimates_.Find(HostKey(head)) : nullptr;
  if (estimated != nullptr) {
    HostEstimates& host = host_estimates_.Mutable(HostKey(head));
    if (credit::OwnerEstimates* owner = host.Of(head.user)) {
      const credit::MicroTotal open_before = owner->open();
      owner->granted += head.credit_micro;
      if (sums != nullptr) sums->open += owner->open() - open_before;
    }
  }
  if (sums != nullptr) sums->Show(shown_before, user->account.shown_micro());
}

}  // namespace cobblestone::accounts
