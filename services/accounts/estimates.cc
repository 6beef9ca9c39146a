// Continuous accounting: the part of AccountsStage that keeps estimates and settles them.
#include "services/accounts/estimates.h"

#include "common/wire/ledger/grant_codec.h"
#include "services/accounts/accounts_stage.h"

namespace cobblestone::accounts {

using stream::Emitter;
using stream::Key;

namespace {

Key UserKey(const wire::GrantHead& head) {
  return {.project = head.project.value, .id = head.user.value, .sub = 0};
}

Key ProjectKey(std::uint32_t project) { return {.project = project, .id = 0, .sub = 0}; }

// The entry of this owner, created if there is none.
credit::OwnerEstimates& OwnerOf(UserId user, HostEstimates& host) {
  if (credit::OwnerEstimates* owner = host.Of(user)) return *owner;
  credit::OwnerEstimates& owner = host.owners.emplace_back();
  owner.user = user;
  return owner;
}

}  // namespace

// The key under which the estimates of a host and owner are kept. If the host has become another host under
// this owner, it is the other host's key. Estimates of earlier owners stay under the host's own number, as
// grants to them do.
Key AccountsStage::EstimatesOf(const wire::GrantHead& head) {
  Key key{.project = head.project.value, .id = head.host.value, .sub = 0};
  for (const HostAccount* row = hosts_.Find(key); row != nullptr && row->merge.done && row->user == head.user;
       row = hosts_.Find(key))
    key.id = row->merge.into.value;
  return key;
}

// Host `from` has become another host.
void AccountsStage::UniteEstimates(const Key& from, UserId owner) {
  const HostEstimates* estimated = host_estimates_.Find(from);
  if (estimated == nullptr) return;
  HostEstimates& host = host_estimates_.Mutable(from);
  credit::OwnerEstimates* gives = host.Of(owner);
  if (gives == nullptr) return;
  const Key target =
      EstimatesOf({.project = ProjectId(from.project), .user = owner, .host = HostId(from.id)});
  HostEstimates& takes_all = host_estimates_.Mutable(target);
  credit::OwnerEstimates& into = OwnerOf(owner, takes_all);
  const credit::MicroTotal open_before = gives->open() + into.open();
  stage::TakeOlderDays(from, gives->sums.days, host_estimate_days_, host.NumberOf(*gives));
  stage::TakeOlderDays(target, into.sums.days, host_estimate_days_, takes_all.NumberOf(into));
  credit::Add(gives->sums, into.sums);
  into.granted += gives->granted;
  stage::FileOlderDays(target, into.sums.days, host_estimate_days_, takes_all.NumberOf(into));
  // The entry keeps its place: older days of the entries after it are numbered by their places.
  gives->sums = {};
  gives->granted = 0;
  const Key user_key{.project = from.project, .id = owner.value, .sub = 0};
  user_estimates_.Mutable(user_key).open += into.open() - open_before;
  project_estimates_.Mutable(ProjectKey(from.project)).open += into.open() - open_before;
  List(user_key, users_.Mutable(user_key), changed_users_);
}

void AccountsStage::OnEstimate(std::string_view bytes, Emitter& out) {
  wire::Grant record;
  if (!wire::DecodeGrant(bytes, &record) || !record.estimate)
    return out.Fail(Status::Corrupted("an estimate cannot be decoded"));
  const wire::GrantHead& head = record.head;
  const Key key = EstimatesOf(head);
  HostEstimates& host = host_estimates_.Mutable(key);
  credit::OwnerEstimates& owner = OwnerOf(head.user, host);
  credit::UserEstimates* sums = head.user ? &user_estimates_.Mutable(UserKey(head)) : nullptr;
  ProjectEstimates& project = project_estimates_.Mutable(ProjectKey(head.project.value));
  const credit::MicroTotal open_before = owner.open();
  for (const wire::EstimatedUse& use : record.estimate->uses) {
    const credit::EstimateCounters counted{
        .credit = use.credit_micro,
        .run_time = credit::CountOf(use.run_time).value_or(0),
        .jobs = use.jobs,
        .failed_jobs = use.failed_jobs,
        .failed_run_time = credit::CountOf(use.failed_run_time).value_or(0)};
    credit::AddEstimate(counted, head.time, owner.sums);
    if (sums != nullptr) credit::AddEstimate(counted, head.time, sums->sums);
    credit::AddEstimate(counted, head.time, project.sums);
  }
  project.open += owner.open() - open_before;
  stage::FileOlderDays(ProjectKey(head.project.value), project.sums.days, project_estimate_days_);
  stage::FileOlderDays(key, owner.sums.days, host_estimate_days_, host.NumberOf(owner));
  if (sums == nullptr) return;
  stage::FileOlderDays(UserKey(head), sums->sums.days, user_estimate_days_);
  sums->open += owner.open() - open_before;
  UserState& user = users_.Mutable(UserKey(head));
  user.estimated = true;
  sums->Show(user.account.shown_micro(), user.account.shown_micro());
  List(UserKey(head), user, changed_users_);
}

HostEstimates AccountsStage::Whole(const Key& key, HostEstimates host) {
  for (credit::OwnerEstimates& owner : host.owners)
    stage::AddOlderDays(key, owner.sums.days, host_estimate_days_, host.NumberOf(owner));
  return host;
}

credit::UserEstimates AccountsStage::Whole(const Key& key, credit::UserEstimates user) {
  stage::AddOlderDays(key, user.sums.days, user_estimate_days_);
  return user;
}

ProjectEstimates AccountsStage::Whole(const Key& key, ProjectEstimates project) {
  stage::AddOlderDays(key, project.sums.days, project_estimate_days_);
  return project;
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
  const Key key = EstimatesOf(head);
  if (head.credit_micro > 0 && host_estimates_.Find(key) != nullptr) {
    HostEstimates& host = host_estimates_.Mutable(key);
    if (credit::OwnerEstimates* owner = host.Of(head.user)) {
      const credit::MicroTotal open_before = owner->open();
      owner->granted += head.credit_micro;
      if (sums != nullptr) sums->open += owner->open() - open_before;
      project_estimates_.Mutable(ProjectKey(head.project.value)).open += owner->open() - open_before;
    }
  }
  if (sums != nullptr) sums->Show(shown_before, user->account.shown_micro());
}

}  // namespace cobblestone::accounts
