// The audit: every grant from its recorded inputs once more, every total from the grants. Slot by slot, each as of one
// commit, so that it may run while work goes on.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "common/credit/policy.h"
#include "common/wire/account_codec.h"
#include "common/wire/grant_codec.h"
#include "common/wire/mark_codec.h"
#include "common/wire/topics.h"
#include "services/cobblestone/engine.h"
#include "services/cobblestone/ledger_index.h"

namespace cobblestone {

using nlohmann::json;

namespace {

constexpr std::size_t kProblemsTold = 100;

struct Sum {
  credit::MicroTotal micro = 0;
  std::uint64_t grants = 0;
};
using Sums = std::unordered_map<std::uint64_t, Sum>;  // by account, of one project

// What one partition of accounts has sent others about a host that moved: records, and the credit in them.
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
  std::map<std::uint32_t, Sums> teams;
  std::map<std::uint32_t, Sums> parked;   // that wait for their user's event, or to be applied, by host
  std::map<std::uint32_t, Sums> expired;  // that have waited in vain, by user
  std::map<std::pair<std::uint32_t, std::uint64_t>, accounts::UnnamedUser> unnamed;  // of those users
  std::map<std::uint32_t, std::unordered_map<std::uint64_t, bool>> deleted_users;
  SentByHost sent;
};

class Auditor {
 public:
  Auditor(Engine& engine, const std::function<void(std::uint64_t, std::uint64_t)>& progress)
      : engine_(engine), progress_(progress) {}

  Status Run(std::vector<StageSet>& stages, stream::embedded::Runner& runner, LedgerIndex& index);
  json Report() const;

 private:
  Status CheckGrants(std::uint32_t k, const std::vector<Snapshot>& snapshots, LedgerIndex& index);
  void TakeTransfer(const wire::Grant& grant, const std::vector<Snapshot>& snapshots,
                    const std::string& where);
  void CheckTransfers(const std::vector<Snapshot>& snapshots);
  Status CheckPostings(std::uint32_t k, const Snapshot& snapshot);
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
  std::uint64_t done_ = 0;
  std::uint64_t all_ = 0;
  std::uint64_t grants_ = 0;
  std::uint64_t settlements_ = 0;
  std::uint64_t late_ = 0;
  std::uint64_t openings_ = 0;
  std::uint64_t host_moves_ = 0;
  std::uint64_t waiting_ = 0;  // for their user's event
  std::uint64_t expired_ = 0;  // that have waited in vain: their hosts alone have the credit
  std::uint64_t postings_ = 0;
  std::uint64_t accounts_ = 0;
  std::uint64_t problems_ = 0;
  credit::MicroTotal granted_ = 0;
  std::vector<SentByHost> arrived_;  // by the partition that sent it
  std::vector<std::string> told_;
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
      Status s =
          set.accounts->hosts().ForEachStored([&](const stream::Key& key, const accounts::HostAccount& host) {
            snapshot.hosts[key.project][key.id] = {host.account.total_micro, host.account.grants};
          });
      if (s.ok())
        s = set.accounts->moves().ForEachStored(
            [&](const stream::Key& key, const accounts::HostMoves& moves) {
              // All that has come here is in the account, waits for it, or was sent on.
              Sum& all = snapshot.hosts[key.project][key.id];
              all.micro += moves.sent_micro;
              all.grants += moves.sent_grants;
              for (const std::string& bytes : moves.waiting) {
                wire::GrantHead head;
                if (!wire::DecodeGrantHead(bytes, &head)) continue;
                all.micro += head.credit_micro;
                all.grants += head.kind == wire::GrantKind::kFinal ? 1 : 0;
              }
              if (moves.sent > 0)
                snapshot.sent[{key.project, key.id}] = {moves.sent, {moves.sent_micro, moves.sent_grants}};
            });
      if (s.ok())
        s = set.accounts->users().ForEachStored([&](const stream::Key& key, const accounts::UserState& user) {
          Sum& sum = snapshot.users[key.project][key.id];
          sum.micro += user.account.total_micro;
          sum.grants += user.account.grants;
          if (user.deleted) snapshot.deleted_users[key.project][key.id] = true;
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
                ++sum->grants;
              }
            });
      // `order: lockstep`: in the ledger, and applied at the next barrier.
      set.accounts->sorted().ForEach([&](const stream::Key&, const accounts::SortedGrant& one) {
        wire::GrantHead head;
        if (!wire::DecodeGrantHead(one.bytes, &head)) return;
        const std::uint64_t grant = head.kind == wire::GrantKind::kFinal ? 1 : 0;
        const auto add = [&](Sum& sum) {
          sum.micro += head.credit_micro;
          sum.grants += grant;
        };
        if (one.to_host && head.host) add(snapshot.parked[head.project.value][head.host.value]);
        if (one.to_user && head.user && (grant != 0 || !head.host))
          add(snapshot.users[head.project.value][head.user.value]);
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
        ++sum.grants;
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
  std::sort(amounts_.begin(), amounts_.end());
  for (std::size_t i = 1; i < amounts_.size(); ++i)
    if (amounts_[i].first == amounts_[i - 1].first)
      Problem("two grants of one result (or of two with one fingerprint): fingerprint " +
              std::to_string(amounts_[i].first));
  for (std::uint32_t k = 0; k < n; ++k)
    if (Status s = CheckPostings(k, snapshots[k]); !s.ok()) return s;
  if (progress_) progress_(all_, all_);
  return Status::Ok();
}

// What a host's account or a share of a grant brings to a partition counts as sent by the other one if it was sent before
// that one's snapshot.
void Auditor::TakeTransfer(const wire::Grant& grant, const std::vector<Snapshot>& snapshots,
                           const std::string& where) {
  const wire::HostTransfer& transfer = *grant.transfer;
  if (transfer.from_partition >= snapshots.size())
    return Problem(where + ": came from partition " + std::to_string(transfer.from_partition) +
                   ", which there is not");
  const std::pair host{grant.head.project.value, grant.head.host.value};
  const SentByHost& all_sent = snapshots[transfer.from_partition].sent;
  const auto sent = all_sent.find(host);
  if (sent == all_sent.end() || transfer.number > sent->second.records) return;
  Sent& arrived = arrived_[transfer.from_partition][host];
  ++arrived.records;
  const bool account = grant.head.kind == wire::GrantKind::kHostAccount;
  arrived.sum.micro += account ? transfer.account.total_micro : grant.head.credit_micro;
  arrived.sum.grants += account                                        ? transfer.account.grants
                        : transfer.share_of == wire::GrantKind::kFinal ? 1
                                                                       : 0;
}

void Auditor::CheckTransfers(const std::vector<Snapshot>& snapshots) {
  for (std::uint32_t k = 0; k < snapshots.size(); ++k)
    for (const auto& [host, sent] : snapshots[k].sent) {
      const Sent& arrived = arrived_[k][host];
      if (arrived.records != sent.records || arrived.sum.micro != sent.sum.micro ||
          arrived.sum.grants != sent.sum.grants)
        Problem("host " + std::to_string(host.second) + " of project " + std::to_string(host.first) +
                " moved: partition " + std::to_string(k) + " has sent on " + std::to_string(sent.records) +
                " records, the ledger holds " + std::to_string(arrived.records) + ", and they differ by " +
                std::to_string(static_cast<long long>(sent.sum.micro - arrived.sum.micro)) +
                " micro-credits and " +
                std::to_string(static_cast<long long>(sent.sum.grants - arrived.sum.grants)) + " grants");
    }
}

Status Auditor::CheckGrants(std::uint32_t k, const std::vector<Snapshot>& snapshots, LedgerIndex& index) {
  const Snapshot& snapshot = snapshots[k];
  bool any_moves = false;
  for (const Snapshot& other : snapshots) any_moves = any_moves || !other.sent.empty();
  std::map<std::uint32_t, Sums> hosts;
  std::map<std::uint32_t, Sums> users;
  std::map<std::uint32_t, Sums> expired;
  Status bad;
  Status s = engine_.ForEachRecord({wire::kGrants, k}, [&](std::uint64_t offset, std::string_view record) {
    // Behind the snapshot lies what other partitions had sent before theirs.
    const bool behind = offset >= snapshot.grants_end;
    if (behind && !any_moves) return false;
    if (!behind) Step();
    const std::string where =
        "grant at partition " + std::to_string(k) + ", offset " + std::to_string(offset);
    wire::Grant grant;
    if (!wire::DecodeGrant(record, &grant)) {
      Problem(where + " does not decode");
      return true;
    }
    const wire::GrantHead& head = grant.head;
    if (head.kind == wire::GrantKind::kMark) return true;
    if (grant.transfer) TakeTransfer(grant, snapshots, where);
    if (behind) return true;
    if (wire::IsHostMove(head.kind)) {
      if (!grant.transfer) return true;  // an announcement
      const bool account = head.kind == wire::GrantKind::kHostAccount;
      host_moves_ += account ? 1 : 0;
      Sum& host = hosts[head.project.value][head.host.value];
      host.micro += account ? grant.transfer->account.total_micro : head.credit_micro;
      host.grants += account                                               ? grant.transfer->account.grants
                     : grant.transfer->share_of == wire::GrantKind::kFinal ? 1
                                                                           : 0;
      return true;
    }
    if (head.kind == wire::GrantKind::kOpening) {
      ++openings_;
      if (head.host) {
        hosts[head.project.value][head.host.value].micro += head.credit_micro;
      } else if (head.user) {
        users[head.project.value][head.user.value].micro += head.credit_micro;
      }
      return true;
    }
    ++grants_;
    granted_ += head.credit_micro;
    amounts_.emplace_back(ResultHash(head.project, head.result), head.credit_micro);
    CheckFinal(grant, where + " (result " + std::to_string(head.result.value) + ")", index);
    Sum& host = hosts[head.project.value][head.host.value];
    host.micro += head.credit_micro;
    ++host.grants;
    if (head.user) {
      const auto unnamed = snapshot.unnamed.find({head.project.value, head.user.value});
      const bool in_vain = unnamed != snapshot.unnamed.end() && unnamed->second.Expired(offset);
      expired_ += in_vain ? 1 : 0;
      Sum& user = (in_vain ? expired : users)[head.project.value][head.user.value];
      user.micro += head.credit_micro;
      ++user.grants;
    }
    return true;
  });
  if (!s.ok()) return s;
  // What waits is in the ledger and not yet in the host's total.
  for (const auto& [project, parked] : snapshot.parked)
    for (const auto& [host, sum] : parked) {
      hosts[project][host].micro -= sum.micro;
      hosts[project][host].grants -= sum.grants;
    }
  // Once a user is deleted its own total stands still; its hosts' go on.
  std::map<std::uint32_t, Sums> living = snapshot.users;
  for (const auto& [project, deleted] : snapshot.deleted_users)
    for (const auto& [user, is] : deleted) {
      living[project].erase(user);
      users[project].erase(user);
    }
  CheckAccounts("host", snapshot.hosts, hosts);
  CheckAccounts("user", living, users);
  CheckAccounts("expired credit of user", snapshot.expired, expired);
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
        Problem(name(project, id) + ": its total is off by " +
                std::to_string(static_cast<long long>(sum.micro - expected.micro)) +
                " micro-credits from its grants");
      if (sum.grants != expected.grants)
        Problem(name(project, id) + ": counts " + std::to_string(sum.grants) + " grants, the ledger has " +
                std::to_string(expected.grants));
    }
  for (const auto& [project, sums] : ledger)
    for (const auto& [id, sum] : sums)
      if ((sum.micro != 0 || sum.grants != 0) && find(state, project, id).grants == 0 &&
          find(state, project, id).micro == 0)
        Problem(name(project, id) + ": has grants in the ledger and no total");
}

void Auditor::CheckFinal(const wire::Grant& grant, const std::string& where, LedgerIndex& index) {
  bool ok = true;
  if (credit::RoundToMicro(grant.detail.credit, &ok) != grant.head.credit_micro || !ok)
    Problem(where + ": " + Text(grant.detail.credit) + " is not rounded to " +
            std::to_string(grant.head.credit_micro));
  if (!grant.claim) return Problem(where + ": has no claim");
  const credit::Claim& claim = *grant.claim;
  const auto project = projects_.find(grant.head.project.value);
  const credit::PolicyVersion* policy =
      project == projects_.end() ? nullptr : project->second.FindPolicy(claim.app, claim.policy_version);
  if (policy == nullptr || policy->kind != claim.policy)
    return Problem(where + ": names policy version " + std::to_string(claim.policy_version) + " of app " +
                   std::to_string(claim.app.value) + ", which there never was");
  credit::Claim again = claim;
  credit::PolicyFor(claim.policy).Price(again, policy->constants);
  if (again.mode != claim.mode || !SameBits(again.pfc, claim.pfc) ||
      !SameBits(again.claimed, claim.claimed) || again.flags != claim.flags)
    Problem(where + ": its claim of " + Text(claim.claimed) + " comes to " + Text(again.claimed) +
            " from its recorded inputs");
  if ((grant.head.flags & credit::kGrantLate) != 0) return CheckLate(grant, where, index);
  CheckSettlement(grant, policy->constants, where);
}

void Auditor::CheckSettlement(const wire::Grant& grant, const credit::Constants& constants,
                              const std::string& where) {
  std::vector<credit::Claim> claims;
  claims.push_back(*grant.claim);
  for (const wire::OtherClaim& other : grant.others) {
    credit::Claim claim = *grant.claim;  // what is the workunit's is the same in all
    claim.result = other.result;
    claim.host = other.host;
    claim.mode = other.mode;
    claim.flags = other.flags;
    claim.pfc = other.pfc;
    claim.claimed = other.claimed;
    claim.min_avg_pfc = other.min_avg_pfc.value_or(claim.min_avg_pfc);
    claim.epoch = other.epoch.value_or(claim.epoch);
    claim.fpops_est = other.fpops_est.value_or(claim.fpops_est);
    claim.fpops_bound = other.fpops_bound.value_or(claim.fpops_bound);
    claims.push_back(claim);
  }
  std::sort(claims.begin(), claims.end(),
            [](const credit::Claim& a, const credit::Claim& b) { return a.result < b.result; });
  const credit::Settlement settled =
      credit::PolicyFor(grant.claim->policy).Settle(claims, grant.detail.max_granted_credit, constants);
  ++settlements_;
  if (!SameBits(settled.credit, grant.detail.credit))
    Problem(where + ": granted " + Text(grant.detail.credit) + ", its claims come to " +
            Text(settled.credit));
}

// What another result of the same workunit got.
void Auditor::CheckLate(const wire::Grant& grant, const std::string& where, LedgerIndex& index) {
  ++late_;
  if (!grant.detail.canonical_result) return;  // the validator named none: nothing to compare with
  auto places = index.Grants(grant.head.project, grant.detail.canonical_result);
  if (!places.ok() || places->empty()) return;  // granted nothing itself: its host is gone
  auto batch = engine_.log().Read({wire::kGrants, places->front().partition}, places->front().offset);
  if (!batch.ok() || *batch == nullptr)
    return Problem(where + ": the canonical result's grant cannot be read");
  stream::RecordCursor cursor((*batch)->payload);
  std::string_view record;
  for (std::uint64_t offset = (*batch)->first; offset <= places->front().offset; ++offset)
    cursor.Next(&record);
  wire::Grant canonical;
  if (!wire::DecodeGrant(record, &canonical) || !canonical.claim ||
      canonical.claim->workunit != grant.claim->workunit ||
      !SameBits(canonical.detail.credit, grant.detail.credit))
    Problem(where + ": late, and did not get what the canonical result " +
            std::to_string(grant.detail.canonical_result.value) + " got");
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
      Problem(where + " does not decode");
      return true;
    }
    const std::uint64_t hash = ResultHash(posting.project, posting.result);
    const auto at = std::lower_bound(amounts_.begin(), amounts_.end(), std::pair{hash, INT64_MIN});
    if (at == amounts_.end() || at->first != hash) {
      Problem(where + ": of a result that has no grant");
    } else if (at->second != posting.credit_micro) {
      Problem(where + ": another amount than its grant");
    }
    Sum& team = teams[posting.project.value][posting.team.value];
    team.micro += posting.credit_micro;
    ++team.grants;
    return true;
  });
  if (!s.ok()) return s;
  CheckAccounts("team", snapshot.teams, teams);
  return Status::Ok();
}

json Auditor::Report() const {
  return {{"grants", grants_},
          {"settlements_recomputed", settlements_},
          {"late_grants", late_},
          {"opening_balances", openings_},
          {"host_moves", host_moves_},
          {"postings", postings_},
          {"waiting_for_user", waiting_},
          {"expired_grants", expired_},
          {"accounts", accounts_},
          {"granted_micro", std::to_string(static_cast<long long>(granted_))},
          {"problem_count", problems_},
          {"problems", told_}};
}

}  // namespace

Result<json> Engine::Audit(const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) {
  Auditor auditor(*this, progress);
  if (Status s = auditor.Run(stages_, *runner_, *index_); !s.ok()) return s;
  return auditor.Report();
}

}  // namespace cobblestone
