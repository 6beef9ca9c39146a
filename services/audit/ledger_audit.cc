// The audit: recomputes each grant from its recorded inputs, and each total from the grants. Reads the state
// slot by slot, each as of one commit, so the pipeline may run meanwhile.
#include <algorithm>
#include <bit>
#include <chrono>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "common/credit/policies/policy.h"
#include "common/credit/policies/worth_if_valid.h"
#include "common/credit/trickles/partial_settlement.h"
#include "common/credit/trickles/trickle_policy.h"
#include "common/wire/control/mark_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/counted.h"
#include "common/wire/ledger/grant_codec.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/audit/correction_audit.h"
#include "services/audit/estimate_audit.h"
#include "services/audit/merge_audit.h"
#include "services/embedded/engine.h"
#include "services/ledger/ledger_index.h"

namespace cobblestone {

using nlohmann::json;

namespace {

constexpr std::size_t kProblemsTold = 100;

struct Sum {
  credit::MicroTotal micro = 0;
  std::uint64_t grants = 0;
};
using Sums = std::unordered_map<std::uint64_t, Sum>;  // by account, of one project

// Trickle payments of one result, and the part that has become final.
struct Paid {
  ProjectId project;
  ResultId result;
  credit::MicroTotal partials = 0;
  credit::MicroTotal settled = 0;
  credit::MicroTotal reversed = 0;  // by operators while the job ran
};

// Records that one ACCOUNTS partition has sent to others for a host that moved, and their credit.
struct Sent {
  std::uint64_t records = 0;
  Sum sum;
};
using SentByHost = std::map<std::pair<std::uint32_t, std::uint64_t>, Sent>;  // by project, host

struct Snapshot {
  std::uint64_t grants_end = 0;
  std::uint64_t postings_end = 0;
  std::map<std::uint32_t, Sums> hosts;
  std::map<std::uint32_t, Sums> users;
  std::map<std::uint32_t, Sums> provisional;  // of users, in `micro`
  std::map<std::uint32_t, Sums> teams;
  std::map<std::uint32_t, Sums> parked;   // grants that wait for their user or to be applied, by host
  std::map<std::uint32_t, Sums> expired;  // grants that expired while they waited for their user, by user
  std::map<std::pair<std::uint32_t, std::uint64_t>, accounts::UnnamedUser> unnamed;  // these users
  SentByHost sent;
  std::map<std::uint32_t, Sums> inherited;  // credit that merged hosts gave to their new host, by new host
};

void AddProvisional(const wire::GrantHead& head, std::map<std::uint32_t, Sums>& to) {
  const credit::MicroCredit partial = wire::ProvisionalOf(head);
  if (partial != 0 || head.settles_micro != 0)
    to[head.project.value][head.user.value].micro += partial - head.settles_micro;
}

class Auditor {
 public:
  Auditor(Engine& engine, const std::function<void(std::uint64_t, std::uint64_t)>& progress)
      : engine_(engine), progress_(progress) {}

  Status Run(std::vector<StageSet>& stages, stream::embedded::Runner& runner, LedgerIndex& index);
  json Report() const;
  AuditOutcome outcome() const {
    return {.problems = problems_,
            .grants = grants_,
            .waiting_grants = waiting_,
            .expired_grants = expired_,
            .results_half_told = half_told_};
  }

 private:
  Status CheckGrants(std::uint32_t k, const std::vector<Snapshot>& snapshots, LedgerIndex& index);
  void TakeTransfer(const wire::Grant& grant, const std::vector<Snapshot>& snapshots,
                    const std::string& where);
  void CheckTransfers(const std::vector<Snapshot>& snapshots);
  Status CheckMerges(std::uint64_t refused_end);
  Status CheckPostings(std::uint32_t k, const Snapshot& snapshot);
  Paid& PaidOf(const wire::GrantHead& head);
  void CheckPartial(const wire::Grant& grant, const std::string& where);
  void CheckUnpaid(const wire::Grant& grant, const std::string& where);
  void CheckInvalid(const wire::Grant& grant, const std::string& where);
  // Prices the claim again. Returns the policy version that the claim names; null, and a problem, if
  // there never was such a version.
  const credit::PolicyVersion* CheckClaim(const credit::Claim& claim, ProjectId project,
                                          const std::string& where);
  void CheckReversal(const wire::Grant& grant, const std::string& where);
  Status CheckPaid(LedgerIndex& index);
  Status CheckCorrections(const std::vector<Snapshot>& snapshots, LedgerIndex& index);
  Result<std::string> RecordAt(const LedgerPlace& place, wire::Topic topic = wire::kGrants);
  void CheckFinal(const wire::Grant& grant, const std::string& where, LedgerIndex& index);
  void CheckSettlement(const wire::Grant& grant, const credit::Constants& constants,
                       const std::string& where);
  void CheckLate(const wire::Grant& grant, const std::string& where, LedgerIndex& index);
  void CheckAccounts(const char* kind, const std::map<std::uint32_t, Sums>& state,
                     const std::map<std::uint32_t, Sums>& ledger);
  void Problem(std::string text) {
    ++problems_;
    if (told_.size() < kProblemsTold) told_.push_back(std::move(text));
  }
  void Step() {
    if (progress_ && (++done_ & 0xffff) == 0) progress_(done_, all_);
  }

  Engine& engine_;
  const std::function<void(std::uint64_t, std::uint64_t)>& progress_;
  std::map<std::uint32_t, wire::ProjectView> projects_;
  std::vector<std::pair<std::uint64_t, std::int64_t>> amounts_;  // hash of (project, result), credit
  std::vector<std::uint64_t> finals_;                            // hashes of results with a final grant
  std::unordered_map<std::uint64_t, Paid> paid_;                 // by hash
  std::uint64_t done_ = 0;
  std::uint64_t all_ = 0;
  std::uint64_t grants_ = 0;
  std::uint64_t partials_ = 0;
  std::uint64_t unpaid_ = 0;
  std::uint64_t invalid_ = 0;
  std::uint64_t reversals_ = 0;
  std::uint64_t settlements_ = 0;
  std::uint64_t late_ = 0;
  std::uint64_t openings_ = 0;
  std::uint64_t host_moves_ = 0;
  std::uint64_t waiting_ = 0;  // for an event that names the user
  std::uint64_t expired_ = 0;  // after this wait: only the host has the credit
  std::uint64_t postings_ = 0;
  std::uint64_t accounts_ = 0;
  std::uint64_t half_told_ = 0;  // results with a completion or a validation, but not both
  std::uint64_t problems_ = 0;
  credit::MicroTotal granted_ = 0;
  credit::MicroTotal posted_ = 0;
  std::vector<SentByHost> arrived_;  // by sending partition
  std::vector<std::string> told_;
  EstimateAudit estimates_{[this](std::string text) { Problem(std::move(text)); }};
  MergeAudit merges_{[this](std::string text) { Problem(std::move(text)); }};
  CorrectionAudit corrections_{[this](std::string text) { Problem(std::move(text)); }};
};

std::uint64_t ResultHash(ProjectId project, ResultId result) {
  return stream::HashKey({.project = project.value, .id = result.value, .sub = 0}) * 0x9E3779B97F4A7C15ull ^
         result.value;
}

bool SameBits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

std::string Text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

Status Auditor::Run(std::vector<StageSet>& stages, stream::embedded::Runner& runner, LedgerIndex& index) {
  const std::uint32_t n = engine_.pipeline().partitions;
  const std::uint64_t refused_end = engine_.log().DurableEnd({wire::kRefused, 0});
  std::vector<Snapshot> snapshots(n);
  Status bad;
  for (std::uint32_t k = 0; k < n; ++k) {
    Snapshot& snapshot = snapshots[k];
    runner.Query(k, [&](stream::Slot& slot) {
      for (std::size_t i = 0; i < slot.inputs().size(); ++i) {
        if (slot.inputs()[i].where.topic == wire::kGrants) snapshot.grants_end = slot.next(i);
        if (slot.inputs()[i].where.topic == wire::kPostings) snapshot.postings_end = slot.next(i);
      }
      StageSet& set = stages[k];
      Status s = set.claims->pending().ForEachStored([&](const stream::Key&, const claims::Pending& one) {
        half_told_ += one.completion.empty() != one.validation.empty() ? 1 : 0;
      });
      if (s.ok())
        s = set.accounts->hosts().ForEachStored(
            [&](const stream::Key& key, const accounts::HostAccount& host) {
              // The credit that the host gave to the host that it has become was its own before.
              const accounts::HostMerge& merge = host.merge;
              snapshot.hosts[key.project][key.id] = {host.account.total_micro + merge.given_micro,
                                                     host.account.grants + merge.given_grants};
              if (!merge.done) return;
              Sum& heir = snapshot.inherited[key.project][merge.into.value];
              heir.micro += merge.given_micro;
              heir.grants += merge.given_grants;
            });
      if (s.ok())
        s = set.accounts->moves().ForEachStored(
            [&](const stream::Key& key, const accounts::HostMoves& moves) {
              // All credit that came here for the host is in the account, waits for it, or was sent on.
              Sum& all = snapshot.hosts[key.project][key.id];
              all.micro += moves.sent_micro;
              all.grants += moves.sent_grants;
              for (const std::string& bytes : moves.waiting) {
                wire::GrantHead head;
                if (!wire::DecodeGrantHead(bytes, &head)) continue;
                all.micro += head.credit_micro;
                all.grants += wire::CountedBy(head);
              }
              if (moves.sent > 0)
                snapshot.sent[{key.project, key.id}] = {moves.sent, {moves.sent_micro, moves.sent_grants}};
            });
      if (s.ok())
        s = set.accounts->users().ForEachStored([&](const stream::Key& key, const accounts::UserState& user) {
          Sum& sum = snapshot.users[key.project][key.id];
          sum.micro += user.account.total_micro;
          sum.grants += user.account.grants;
          const credit::MicroTotal provisional =
              user.account.provisional_micro + user.unnamed.expired_provisional;
          if (provisional != 0) snapshot.provisional[key.project][key.id].micro += provisional;
          if (user.unnamed.expired_end == 0) return;
          snapshot.expired[key.project][key.id] = {user.unnamed.expired_micro, user.unnamed.expired};
          snapshot.unnamed[{key.project, key.id}] = user.unnamed;
        });
      if (s.ok())
        s = set.accounts->waiting().ForEachStored(
            [&](const stream::Key& key, const accounts::WaitingGrant& waiting) {
              wire::GrantHead head;
              if (!wire::DecodeGrantHead(waiting.bytes, &head)) return;
              ++waiting_;
              for (Sum* sum :
                   {&snapshot.parked[key.project][head.host.value], &snapshot.users[key.project][key.id]}) {
                sum->micro += head.credit_micro;
                sum->grants += wire::CountedBy(head);
              }
              AddProvisional(head, snapshot.provisional);
            });
      if (s.ok()) s = estimates_.Look(*set.accounts);
      if (s.ok()) s = merges_.Look(k, engine_.lockstep(), *set.accounts);
      // `order: lockstep`: these grants are in the ledger and are applied at the next barrier.
      set.accounts->sorted().ForEach([&](const stream::Key&, const accounts::SortedGrant& one) {
        wire::GrantHead head;
        if (!wire::DecodeGrantHead(one.bytes, &head)) return;
        const auto add = [&](Sum& sum) {
          sum.micro += head.credit_micro;
          sum.grants += wire::CountedBy(head);
        };
        if (one.to_host && head.host) add(snapshot.parked[head.project.value][head.host.value]);
        if (one.to_user && head.user && (wire::IsAward(head.kind) || !head.host)) {
          add(snapshot.users[head.project.value][head.user.value]);
          AddProvisional(head, snapshot.provisional);
        }
      });
      if (s.ok())
        s = set.teams->teams().ForEachStored([&](const stream::Key& key, const teams::TeamState& team) {
          snapshot.teams[key.project][key.id] = {team.account.total_micro - team.account.opening_micro,
                                                 team.account.grants};
        });
      set.teams->sorted().ForEach([&](const stream::Key&, const teams::SortedPosting& one) {
        wire::Posting posting;
        if (!wire::DecodePosting(one.bytes, &posting)) return;
        Sum& sum = snapshot.teams[posting.project.value][posting.team.value];
        sum.micro += posting.credit_micro;
        sum.grants += wire::CountedBy(posting);
      });
      if (k == 0)
        set.grants->projects().ForEach(
            [&](const stream::Key& key, const wire::ProjectView& view) { projects_[key.project] = view; });
      if (!s.ok() && bad.ok()) bad = s;
    });
    if (!bad.ok()) return bad;
    all_ += snapshot.grants_end + snapshot.postings_end;
  }
  arrived_.resize(n);
  for (std::uint32_t k = 0; k < n; ++k)
    if (Status s = CheckGrants(k, snapshots, index); !s.ok()) return s;
  CheckTransfers(snapshots);
  estimates_.Check();
  if (Status s = CheckMerges(refused_end); !s.ok()) return s;
  std::sort(finals_.begin(), finals_.end());
  if (const auto twice = std::adjacent_find(finals_.begin(), finals_.end()); twice != finals_.end())
    Problem("two grants of the same result (or of two results with the same fingerprint): fingerprint " +
            std::to_string(*twice));
  std::sort(amounts_.begin(), amounts_.end());
  if (Status s = CheckPaid(index); !s.ok()) return s;
  if (Status s = CheckCorrections(snapshots, index); !s.ok()) return s;
  for (std::uint32_t k = 0; k < n; ++k)
    if (Status s = CheckPostings(k, snapshots[k]); !s.ok()) return s;
  if (progress_) progress_(all_, all_);
  return Status::Ok();
}

// A record that another partition sent (a host's account, or a share of a grant) counts as arrived only if it
// was sent before the sender's snapshot.
void Auditor::TakeTransfer(const wire::Grant& grant, const std::vector<Snapshot>& snapshots,
                           const std::string& where) {
  const wire::HostTransfer& transfer = *grant.transfer;
  if (transfer.from_partition >= snapshots.size())
    return Problem(where + ": transferred from unknown partition " + std::to_string(transfer.from_partition));
  const std::pair host{grant.head.project.value, grant.head.host.value};
  const SentByHost& all_sent = snapshots[transfer.from_partition].sent;
  const auto sent = all_sent.find(host);
  if (sent == all_sent.end() || transfer.number > sent->second.records) return;
  Sent& arrived = arrived_[transfer.from_partition][host];
  ++arrived.records;
  const bool account = grant.head.kind == wire::GrantKind::kHostAccount;
  arrived.sum.micro += account ? transfer.account.total_micro : grant.head.credit_micro;
  arrived.sum.grants +=
      account ? transfer.account.grants : wire::CountedBy(transfer.share_of, grant.head.flags);
}

void Auditor::CheckTransfers(const std::vector<Snapshot>& snapshots) {
  for (std::uint32_t k = 0; k < snapshots.size(); ++k)
    for (const auto& [host, sent] : snapshots[k].sent) {
      const Sent& arrived = arrived_[k][host];
      if (arrived.records != sent.records || arrived.sum.micro != sent.sum.micro ||
          arrived.sum.grants != sent.sum.grants)
        Problem("host " + std::to_string(host.second) + " of project " + std::to_string(host.first) +
                " moved: partition " + std::to_string(k) + " sent " + std::to_string(sent.records) +
                " records, but the ledger has " + std::to_string(arrived.records) +
                " records; they differ by " +
                std::to_string(static_cast<long long>(sent.sum.micro - arrived.sum.micro)) +
                " micro-credits and " +
                std::to_string(static_cast<long long>(sent.sum.grants - arrived.sum.grants)) + " grants");
    }
}

// `refused_end`: end of `refused` before the snapshots.
Status Auditor::CheckMerges(std::uint64_t refused_end) {
  if (merges_.merges() > 0) {
    Status s = engine_.ForEachRecord({wire::kRefused, 0}, [&](std::uint64_t offset, std::string_view record) {
      wire::Refused refused;
      if (wire::DecodeRefused(record, &refused)) merges_.TakeRefused(refused, offset < refused_end);
      return true;
    });
    if (!s.ok()) return s;
  }
  merges_.Check();
  return Status::Ok();
}

Status Auditor::CheckGrants(std::uint32_t k, const std::vector<Snapshot>& snapshots, LedgerIndex& index) {
  const Snapshot& snapshot = snapshots[k];
  bool any_moves = false;
  for (const Snapshot& other : snapshots) any_moves = any_moves || !other.sent.empty();
  std::map<std::uint32_t, Sums> hosts;
  std::map<std::uint32_t, Sums> users;
  std::map<std::uint32_t, Sums> expired;
  std::map<std::uint32_t, Sums> provisional;
  Status s = engine_.ForEachRecord({wire::kGrants, k}, [&](std::uint64_t offset, std::string_view record) {
    // After the snapshot come records that other partitions sent before their own snapshots.
    const bool behind = offset >= snapshot.grants_end;
    if (behind && !any_moves && !estimates_.any() && !merges_.any()) return false;
    if (!behind) Step();
    const std::string where =
        "grant at partition " + std::to_string(k) + ", offset " + std::to_string(offset);
    wire::Grant grant;
    if (!wire::DecodeGrant(record, &grant)) {
      Problem(where + " cannot be decoded");
      return true;
    }
    const wire::GrantHead& head = grant.head;
    if (head.kind == wire::GrantKind::kMark) return true;
    if (grant.transfer) TakeTransfer(grant, snapshots, where);
    merges_.Take(grant, k, behind);
    if (head.kind == wire::GrantKind::kEstimate) {
      estimates_.Take(grant, where, behind);
      return true;
    }
    if (behind) return true;
    if (head.kind == wire::GrantKind::kTrickle) {
      CheckUnpaid(grant, where);
      return true;
    }
    if (head.kind == wire::GrantKind::kInvalid) {
      CheckInvalid(grant, where);
      return true;
    }
    if (wire::IsHostMove(head.kind)) {
      if (!grant.transfer) return true;  // an announcement
      const bool account = head.kind == wire::GrantKind::kHostAccount;
      host_moves_ += account ? 1 : 0;
      Sum& host = hosts[head.project.value][head.host.value];
      host.micro += account ? grant.transfer->account.total_micro : head.credit_micro;
      host.grants +=
          account ? grant.transfer->account.grants : wire::CountedBy(grant.transfer->share_of, head.flags);
      return true;
    }
    if (head.kind == wire::GrantKind::kHostMerged) return true;
    if (head.kind == wire::GrantKind::kOpening) {
      ++openings_;
      if (head.host) {
        hosts[head.project.value][head.host.value].micro += head.credit_micro;
      } else if (head.user) {
        users[head.project.value][head.user.value].micro += head.credit_micro;
      }
      return true;
    }
    granted_ += head.credit_micro;
    amounts_.emplace_back(ResultHash(head.project, head.result), head.credit_micro);
    const std::string whose = where + " (result " + std::to_string(head.result.value) + ")";
    if (grant.undone) corrections_.Take(grant, whose);
    if (grant.undone && head.settles_micro != 0) PaidOf(head).reversed += head.settles_micro;
    switch (head.kind) {
      case wire::GrantKind::kPartial: CheckPartial(grant, whose); break;
      case wire::GrantKind::kReversal:
        if (!grant.undone) CheckReversal(grant, whose);
        break;
      case wire::GrantKind::kRepricing: break;  // CheckCorrections
      default:
        ++grants_;
        finals_.push_back(ResultHash(head.project, head.result));
        CheckFinal(grant, whose, index);
    }
    Sum& host = hosts[head.project.value][head.host.value];
    host.micro += head.credit_micro;
    host.grants += wire::CountedBy(head);
    if (head.user) {
      const auto unnamed = snapshot.unnamed.find({head.project.value, head.user.value});
      const bool in_vain = unnamed != snapshot.unnamed.end() && unnamed->second.Expired(offset);
      expired_ += in_vain ? 1 : 0;
      Sum& user = (in_vain ? expired : users)[head.project.value][head.user.value];
      user.micro += head.credit_micro;
      user.grants += wire::CountedBy(head);
      AddProvisional(head, provisional);
    }
    return true;
  });
  if (!s.ok()) return s;
  // Waiting grants are in the ledger, but not yet in the host's total.
  for (const auto& [project, parked] : snapshot.parked)
    for (const auto& [host, sum] : parked) {
      hosts[project][host].micro -= sum.micro;
      hosts[project][host].grants -= sum.grants;
    }
  for (const auto& [project, heirs] : snapshot.inherited)
    for (const auto& [host, sum] : heirs) {
      hosts[project][host].micro += sum.micro;
      hosts[project][host].grants += sum.grants;
    }
  CheckAccounts("host", snapshot.hosts, hosts);
  CheckAccounts("user", snapshot.users, users);
  CheckAccounts("expired credit of user", snapshot.expired, expired);
  CheckAccounts("provisional credit of user", snapshot.provisional, provisional);
  return Status::Ok();
}

void Auditor::CheckAccounts(const char* kind, const std::map<std::uint32_t, Sums>& state,
                            const std::map<std::uint32_t, Sums>& ledger) {
  const Sum nothing;
  const auto find = [&](const std::map<std::uint32_t, Sums>& in, std::uint32_t project,
                        std::uint64_t id) -> const Sum& {
    const auto sums = in.find(project);
    if (sums == in.end()) return nothing;
    const auto sum = sums->second.find(id);
    return sum == sums->second.end() ? nothing : sum->second;
  };
  const auto name = [&](std::uint32_t project, std::uint64_t id) {
    return std::string(kind) + " " + std::to_string(id) + " of project " + std::to_string(project);
  };
  for (const auto& [project, sums] : state)
    for (const auto& [id, sum] : sums) {
      ++accounts_;
      const Sum& expected = find(ledger, project, id);
      if (sum.micro != expected.micro)
        Problem(name(project, id) + ": the total differs by " +
                std::to_string(static_cast<long long>(sum.micro - expected.micro)) +
                " micro-credits from the grants");
      if (sum.grants != expected.grants)
        Problem(name(project, id) + ": has " + std::to_string(sum.grants) + " grants, but the ledger has " +
                std::to_string(expected.grants));
    }
  for (const auto& [project, sums] : ledger)
    for (const auto& [id, sum] : sums)
      if ((sum.micro != 0 || sum.grants != 0) && find(state, project, id).grants == 0 &&
          find(state, project, id).micro == 0)
        Problem(name(project, id) + ": has grants in the ledger but no total");
}

Paid& Auditor::PaidOf(const wire::GrantHead& head) {
  Paid& paid = paid_[ResultHash(head.project, head.result)];
  paid.project = head.project;
  paid.result = head.result;
  return paid;
}

void Auditor::CheckUnpaid(const wire::Grant& grant, const std::string& where) {
  ++unpaid_;
  const bool says_why = grant.partial && (grant.partial->outcome != credit::TrickleOutcome::kPaid ||
                                          grant.partial->refusal != wire::RefusalReason::kUnknown);
  if (!says_why) Problem(where + ": the unpaid trickle has no reason");
  if (grant.head.credit_micro != 0 || grant.head.settles_micro != 0)
    Problem(where + ": the unpaid trickle has an amount");
}

void Auditor::CheckPartial(const wire::Grant& grant, const std::string& where) {
  ++partials_;
  PaidOf(grant.head).partials += wire::ProvisionalOf(grant.head);
  if (!grant.partial || !grant.partial->price) return Problem(where + ": the partial grant has no trickle");
  const wire::PartialGrant& partial = *grant.partial;
  const double worth = credit::CreditOfMark(*partial.price, partial.mark_after);
  bool ok = true;
  if (!SameBits(worth, partial.credit) || !SameBits(worth, grant.detail.credit) ||
      credit::RoundToMicro(worth, &ok) - partial.paid_before != grant.head.credit_micro || !ok)
    Problem(where + ": the mark of " + Text(partial.mark_after) + " is worth " + Text(worth) +
            ", but the payment was " + std::to_string(grant.head.credit_micro) + " micro-credits after " +
            std::to_string(partial.paid_before));
  const auto project = projects_.find(grant.head.project.value);
  const credit::PolicyVersion* policy =
      project == projects_.end() ? nullptr
                                 : project->second.FindPolicy(grant.head.app, partial.price->rule_version);
  const auto is_its = [&](const credit::TrickleRule& rule) {
    return rule.variety == partial.variety && rule.kind == partial.price->kind;
  };
  if (policy == nullptr || std::none_of(policy->trickles.begin(), policy->trickles.end(), is_its))
    Problem(where + ": unknown trickle rule of version " + std::to_string(partial.price->rule_version) +
            " of app " + std::to_string(grant.head.app.value) + ", which there never was");
}

void Auditor::CheckReversal(const wire::Grant& grant, const std::string& where) {
  ++reversals_;
  PaidOf(grant.head).settled += grant.head.settles_micro;
  if (grant.head.credit_micro > 0 || -grant.head.credit_micro > grant.head.settles_micro)
    Problem(where + ": the reversal of " + std::to_string(-grant.head.credit_micro) +
            " micro-credits exceeds the settled " + std::to_string(grant.head.settles_micro));
  if (grant.reason.empty()) Problem(where + ": the reversal has no reason");
}

// If a result is decided, all its trickle payments are final or were reversed before; otherwise none is final.
Status Auditor::CheckPaid(LedgerIndex& index) {
  for (auto& [hash, paid] : paid_) {
    if (paid.settled + paid.reversed == paid.partials) continue;
    // A grant under another host than that of the trickles has settled nothing.
    if (paid.settled == 0 && !std::binary_search(finals_.begin(), finals_.end(), hash)) continue;
    // The sum lacks partial grants after the snapshot of another partition.
    const auto places = index.Grants(paid.project, paid.result);
    if (!places.ok()) return places.status();
    credit::MicroTotal partials = 0;
    for (const LedgerPlace& place : *places) {
      wire::GrantHead head;
      const auto record = RecordAt(place);
      if (!record.ok()) return record.status();
      if (wire::DecodeGrantHead(*record, &head) && head.project == paid.project && head.result == paid.result)
        partials += wire::ProvisionalOf(head);
    }
    if (partials != paid.settled + paid.reversed)
      Problem("result " + std::to_string(paid.result.value) + " of project " +
              std::to_string(paid.project.value) + ": the trickle payments are " +
              std::to_string(static_cast<long long>(partials)) + " micro-credits, but " +
              std::to_string(static_cast<long long>(paid.settled)) + " became final and " +
              std::to_string(static_cast<long long>(paid.reversed)) + " were reversed while running");
  }
  return Status::Ok();
}

void Auditor::CheckFinal(const wire::Grant& grant, const std::string& where, LedgerIndex& index) {
  if (!grant.claim) return Problem(where + ": the grant has no claim");
  const credit::Claim& claim = *grant.claim;
  bool ok = true;
  const credit::MicroCredit worth = credit::RoundToMicro(grant.detail.credit, &ok);
  // The worth less the trickle payments.
  const credit::MicroCredit due =
      credit::SettlePartials(claim.paid, worth, claim.settlement, grant.head.time).final_micro;
  if (due != grant.head.credit_micro || !ok)
    Problem(where + ": " + Text(grant.detail.credit) + " is not rounded to " +
            std::to_string(grant.head.credit_micro));
  if (grant.head.settles_micro != 0) PaidOf(grant.head).settled += grant.head.settles_micro;
  const credit::PolicyVersion* policy = CheckClaim(claim, grant.head.project, where);
  if (policy == nullptr) return;
  if ((grant.head.flags & credit::kGrantLate) != 0) return CheckLate(grant, where, index);
  CheckSettlement(grant, policy->constants, where);
}

const credit::PolicyVersion* Auditor::CheckClaim(const credit::Claim& claim, ProjectId project_id,
                                                 const std::string& where) {
  const auto project = projects_.find(project_id.value);
  const credit::PolicyVersion* policy =
      project == projects_.end() ? nullptr : project->second.FindPolicy(claim.app, claim.policy_version);
  if (policy == nullptr || policy->kind != claim.policy) {
    Problem(where + ": unknown policy version " + std::to_string(claim.policy_version) + " of app " +
            std::to_string(claim.app.value) + ", which there never was");
    return nullptr;
  }
  credit::Claim again = claim;
  credit::PolicyFor(claim.policy).Price(again, policy->constants);
  if (again.mode != claim.mode || !SameBits(again.pfc, claim.pfc) ||
      !SameBits(again.claimed, claim.claimed) || again.flags != claim.flags)
    Problem(where + ": the claim of " + Text(claim.claimed) + " is worth " + Text(again.claimed) +
            " from the recorded inputs");
  return policy;
}

// The record of a result that was judged invalid awards nothing, and states the worth of its claim.
void Auditor::CheckInvalid(const wire::Grant& grant, const std::string& where) {
  ++invalid_;
  if (!grant.claim) return Problem(where + ": the result judged invalid has no claim");
  if (grant.head.credit_micro != 0 || grant.head.settles_micro != 0)
    Problem(where + ": the result judged invalid has an amount");
  const credit::PolicyVersion* policy = CheckClaim(*grant.claim, grant.head.project, where);
  if (policy == nullptr) return;
  const double worth = credit::WorthAlone(*grant.claim, grant.detail.max_granted_credit, policy->constants);
  if (!SameBits(worth, grant.detail.credit))
    Problem(where + ": the recorded worth is " + Text(grant.detail.credit) + ", but the claim is worth " +
            Text(worth));
}

void Auditor::CheckSettlement(const wire::Grant& grant, const credit::Constants& constants,
                              const std::string& where) {
  std::vector<credit::Claim> claims;
  claims.push_back(*grant.claim);
  for (const wire::OtherClaim& other : grant.others) claims.push_back(wire::ClaimOf(other, *grant.claim));
  std::sort(claims.begin(), claims.end(),
            [](const credit::Claim& a, const credit::Claim& b) { return a.result < b.result; });
  const credit::Settlement settled =
      credit::PolicyFor(grant.claim->policy).Settle(claims, grant.detail.max_granted_credit, constants);
  ++settlements_;
  if (!SameBits(settled.credit, grant.detail.credit))
    Problem(where + ": granted " + Text(grant.detail.credit) + ", but the claims give " +
            Text(settled.credit));
}

Status Auditor::CheckCorrections(const std::vector<Snapshot>& snapshots, LedgerIndex& index) {
  const AuditedLedger ledger{
      .index = index,
      .record_at = [&](const LedgerPlace& place, wire::Topic topic) { return RecordAt(place, topic); },
      .each_grant = [&](const std::function<void(std::string_view)>& take) -> Status {
        for (std::uint32_t k = 0; k < snapshots.size(); ++k) {
          const auto visit = [&](std::uint64_t, std::string_view record) {
            take(record);
            return true;
          };
          if (Status s = engine_.ForEachRecord({wire::kGrants, k}, visit); !s.ok()) return s;
        }
        return Status::Ok();
      },
      .is_behind =
          [&](const LedgerPlace& grant) { return grant.offset >= snapshots[grant.partition].grants_end; },
      .projects = projects_};
  return corrections_.Check(ledger);
}

Result<std::string> Auditor::RecordAt(const LedgerPlace& place, wire::Topic topic) {
  auto batch = engine_.log().Read({topic, place.partition}, place.offset);
  if (!batch.ok()) return batch.status();
  if (*batch == nullptr) return Status::NotFound("the record is not in the log");
  stream::RecordCursor cursor((*batch)->payload);
  std::string_view record;
  for (std::uint64_t offset = (*batch)->first; offset <= place.offset; ++offset) cursor.Next(&record);
  return std::string(record);
}

// A late result gets the amount of another result of its workunit.
void Auditor::CheckLate(const wire::Grant& grant, const std::string& where, LedgerIndex& index) {
  ++late_;
  if (!grant.detail.canonical_result) return;  // the validator named no canonical result: nothing to compare
  auto places = index.Grants(grant.head.project, grant.detail.canonical_result);
  if (!places.ok() || places->empty()) return;  // the canonical result's host is deleted: no grant
  wire::Grant canonical;
  bool decided = false;
  for (const LedgerPlace& place : *places) {
    const auto record = RecordAt(place);
    if (!record.ok()) return Problem(where + ": the canonical result's grant cannot be read");
    wire::GrantHead head;
    if (decided || !wire::DecodeGrantHead(*record, &head) || head.kind != wire::GrantKind::kFinal) continue;
    decided = wire::DecodeGrant(*record, &canonical);
  }
  if (!decided) return;  // the canonical result has trickle payments only
  if (!canonical.claim || canonical.claim->workunit != grant.claim->workunit ||
      !SameBits(canonical.detail.credit, grant.detail.credit))
    Problem(where + ": the late grant differs from the grant of canonical result " +
            std::to_string(grant.detail.canonical_result.value));
}

Status Auditor::CheckPostings(std::uint32_t k, const Snapshot& snapshot) {
  std::map<std::uint32_t, Sums> teams;
  Status s = engine_.ForEachRecord({wire::kPostings, k}, [&](std::uint64_t offset, std::string_view record) {
    if (offset >= snapshot.postings_end) return false;
    Step();
    if (wire::IsPassedPosting(record)) return true;
    ++postings_;
    wire::Posting posting;
    const std::string where =
        "posting at partition " + std::to_string(k) + ", offset " + std::to_string(offset);
    if (!wire::DecodePosting(record, &posting)) {
      Problem(where + " cannot be decoded");
      return true;
    }
    const std::uint64_t hash = ResultHash(posting.project, posting.result);
    const auto at = std::lower_bound(amounts_.begin(), amounts_.end(), std::pair{hash, INT64_MIN});
    if (at == amounts_.end() || at->first != hash) {
      Problem(where + ": the result of the posting has no grant");
    } else if (!std::binary_search(at, amounts_.end(), std::pair{hash, posting.credit_micro})) {
      Problem(where + ": the amount differs from the grant");
    }
    posted_ += posting.credit_micro;
    Sum& team = teams[posting.project.value][posting.team.value];
    team.micro += posting.credit_micro;
    team.grants += wire::CountedBy(posting);
    return true;
  });
  if (!s.ok()) return s;
  CheckAccounts("team", snapshot.teams, teams);
  return Status::Ok();
}

json Auditor::Report() const {
  return {{"grants", grants_},
          {"partial_grants", partials_},
          {"unpaid_trickles", unpaid_},
          {"invalid_results", invalid_},
          {"reversals", reversals_},
          {"corrections", corrections_.records()},
          {"settlements_recomputed", settlements_},
          {"late_grants", late_},
          {"opening_balances", openings_},
          {"host_moves", host_moves_},
          {"host_merges", merges_.merges()},
          {"host_merges_waiting", merges_.waiting()},
          {"host_merges_refused", merges_.refused()},
          {"estimates", estimates_.records()},
          {"postings", postings_},
          {"waiting_for_user", waiting_},
          {"expired_grants", expired_},
          {"results_half_told", half_told_},
          {"accounts", accounts_},
          {"granted_micro", std::to_string(static_cast<long long>(granted_))},
          {"posted_micro", std::to_string(static_cast<long long>(posted_))},
          {"problem_count", problems_},
          {"problems", told_}};
}

}  // namespace

Result<json> Engine::Audit(const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) {
  const auto began = std::chrono::steady_clock::now();
  Auditor auditor(*this, progress);
  if (Status s = auditor.Run(stages_, *runner_, *index_); !s.ok()) return s;
  AuditOutcome outcome = auditor.outcome();
  outcome.at = options_.clock();
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  RememberAudit(outcome);
  return auditor.Report();
}

}  // namespace cobblestone
