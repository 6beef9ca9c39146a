#include "services/audit/ledger_audit.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/control/mark_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/ledger/counted.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/audit/account_balance.h"
#include "services/audit/audit_snapshot.h"
#include "services/audit/correction_audit.h"
#include "services/audit/estimate_audit.h"
#include "services/audit/grant_audit.h"
#include "services/audit/merge_audit.h"
#include "services/audit/result_balance.h"
#include "services/grants/grants_stage.h"
#include "services/ledger/ledger_records.h"

namespace cobblestone {
namespace {

using nlohmann::json;

// Records between two calls of AuditOptions::progress, about.
constexpr std::uint64_t kProgressRecords = 1u << 16;

class LedgerAudit {
 public:
  LedgerAudit(AuditedPipeline& pipeline, const AuditOptions& options)
      : pipeline_(pipeline),
        options_(options),
        grants_log_(pipeline.LogOf(wire::kGrants)),
        accounts_(options.spill),
        results_(options.spill) {}

  Status Run();
  [[nodiscard]] AuditReport Report() const;

 private:
  Status LookAtStates();
  Status ReadGrants(std::uint32_t k);
  Status TakeGrant(std::uint32_t k, std::uint64_t offset, const wire::Grant& grant, bool behind);
  void TakeAward(std::uint32_t k, std::uint64_t offset, const wire::Grant& grant);
  void TakeTransfer(const wire::Grant& grant, const AuditedPlace& place);
  void CheckTransfers();
  Status CheckMerges();
  Status CheckCorrections();
  Status ReadPostings(std::uint32_t k);
  // Reads the partition from its beginning to `end`, at which it must have arrived.
  Status ForEachRecord(stream::IndexedLog& log, stream::TopicPartition where, std::uint64_t end,
                       const std::function<Status(std::uint64_t offset, std::string_view record)>& take);
  void Step(std::uint64_t records);
  void AddRecord(std::uint32_t k, AuditedAccount kind, ProjectId project, std::uint64_t id,
                 const AuditedSum& sum) {
    accounts_.AddRecord({.partition = k, .kind = kind, .project = project.value, .id = id}, sum);
  }

  AuditedPipeline& pipeline_;
  const AuditOptions& options_;
  const std::unique_ptr<stream::IndexedLog> grants_log_;
  AuditProblems problems_;
  std::vector<AuditSnapshot> snapshots_;    // by partition
  std::vector<std::uint64_t> grants_ends_;  // of the topic, after all snapshots
  std::uint64_t refused_end_ = 0;           // before all snapshots
  AuditedProjects projects_;
  AccountBalance accounts_;
  ResultBalance results_;
  GrantAudit grants_{projects_, [this] { return pipeline_.ledger(); }, problems_};
  EstimateAudit estimates_{[this](std::string text) { problems_.Add(std::move(text)); }};
  MergeAudit merges_{[this](std::string text) { problems_.Add(std::move(text)); }};
  CorrectionAudit corrections_{[this](std::string text) { problems_.Add(std::move(text)); }};
  std::vector<SentByHost> arrived_;  // by sending partition
  std::uint64_t done_ = 0;
  std::uint64_t told_ = 0;
  std::uint64_t all_ = 0;
  std::uint64_t openings_ = 0;
  std::uint64_t host_moves_ = 0;
  std::uint64_t expired_ = 0;  // grants whose user no event has named in time: only the host has the credit
  std::uint64_t postings_ = 0;
  std::uint64_t compared_ = 0;  // accounts
  credit::MicroTotal granted_ = 0;
  credit::MicroTotal posted_ = 0;
};

Status LedgerAudit::Run() {
  if (Status s = LookAtStates(); !s.ok()) return s;
  const std::uint32_t n = pipeline_.partitions();
  for (std::uint32_t k = 0; k < n; ++k) grants_ends_.push_back(grants_log_->End({wire::kGrants, k}));
  arrived_.resize(n);
  for (std::uint32_t k = 0; k < n; ++k)
    if (Status s = ReadGrants(k); !s.ok()) return s;
  CheckTransfers();
  estimates_.Check();
  if (Status s = CheckMerges(); !s.ok()) return s;
  if (Status s = CheckCorrections(); !s.ok()) return s;
  for (std::uint32_t k = 0; k < n; ++k)
    if (Status s = ReadPostings(k); !s.ok()) return s;
  if (Status s = results_.Compare(problems_); !s.ok()) return s;
  const auto compared = accounts_.Compare(problems_);
  if (!compared.ok()) return compared.status();
  compared_ = *compared;
  if (options_.progress) options_.progress(all_, all_);
  return Status::Ok();
}

Status LedgerAudit::LookAtStates() {
  refused_end_ = pipeline_.LogOf(wire::kRefused)->End({wire::kRefused, 0});
  for (std::uint32_t k = 0; k < pipeline_.partitions(); ++k) {
    Status s = pipeline_.Look(k, [&](const AuditedState& state) {
      auto snapshot = TakeSnapshot(k, state, accounts_);
      if (!snapshot.ok()) return snapshot.status();
      all_ += snapshot->grants_end + snapshot->postings_end;
      snapshots_.push_back(std::move(*snapshot));
      Status looked = estimates_.Look(state.accounts);
      if (looked.ok()) looked = merges_.Look(k, pipeline_.lockstep(), state.accounts);
      if (looked.ok() && k == 0)
        looked = view::ForEach(state.grants, grants::kProjectsTable,
                               [&](const stream::Key& key, const wire::ProjectView& view) {
                                 projects_[key.project] = view;
                                 return Status::Ok();
                               });
      return looked;
    });
    if (!s.ok()) return s;
  }
  return Status::Ok();
}

Status LedgerAudit::ForEachRecord(
    stream::IndexedLog& log, stream::TopicPartition where, std::uint64_t end,
    const std::function<Status(std::uint64_t offset, std::string_view record)>& take) {
  Status taken;
  const auto at = ForEachRecordOf(
      log, where, log.Begin(where), end,
      [&](std::uint64_t offset, std::string_view record) {
        taken = take(offset, record);
        if (taken.ok()) taken = results_.status();
        if (taken.ok()) taken = accounts_.status();
        return taken.ok();
      },
      [&](std::uint64_t records) { Step(records); });
  if (!taken.ok()) return taken;
  if (!at.ok()) return at.status();
  if (*at < end)
    return Status::Retry("partition " + std::to_string(where.partition) + " of " +
                         std::string(wire::TopicName(where.topic)) + " could be read up to offset " +
                         std::to_string(*at) + " only, but the state has read it up to " +
                         std::to_string(end));
  return Status::Ok();
}

void LedgerAudit::Step(std::uint64_t records) {
  done_ = std::min(all_, done_ + records);
  if (!options_.progress || done_ - told_ < kProgressRecords) return;
  told_ = done_;
  options_.progress(done_, all_);
}

// Records behind the snapshot are read too: other partitions, whose snapshots are newer, rest on them.
Status LedgerAudit::ReadGrants(std::uint32_t k) {
  const std::uint64_t snapshot_end = snapshots_[k].grants_end;
  const std::uint64_t end = std::max(snapshot_end, grants_ends_[k]);
  return ForEachRecord(*grants_log_, {wire::kGrants, k}, end,
                       [&](std::uint64_t offset, std::string_view record) -> Status {
                         wire::Grant grant;
                         if (!wire::DecodeGrant(record, &grant)) {
                           problems_.Add(AuditedPlace{.partition = k, .offset = offset, .result = {}}.Text() +
                                         " cannot be decoded");
                           return Status::Ok();
                         }
                         return TakeGrant(k, offset, grant, offset >= snapshot_end);
                       });
}

Status LedgerAudit::TakeGrant(std::uint32_t k, std::uint64_t offset, const wire::Grant& grant, bool behind) {
  const wire::GrantHead& head = grant.head;
  const AuditedPlace place{.partition = k, .offset = offset, .result = head.result};
  if (head.kind == wire::GrantKind::kMark) return Status::Ok();
  if (grant.transfer) TakeTransfer(grant, place);
  merges_.Take(grant, k, behind);
  if (head.kind == wire::GrantKind::kEstimate) {
    estimates_.Take(grant, place.Text(), behind);
    return Status::Ok();
  }
  if (wire::IsAward(head.kind)) results_.Take(grant, k, offset, behind);
  if (behind) return Status::Ok();
  if (wire::IsNote(head.kind)) return grants_.Take(grant, place);
  if (wire::IsHostMove(head.kind)) {
    if (!grant.transfer) return Status::Ok();  // an announcement
    const bool account = head.kind == wire::GrantKind::kHostAccount;
    host_moves_ += account ? 1 : 0;
    AddRecord(k, AuditedAccount::kHost, head.project, head.host.value,
              {.micro = account ? grant.transfer->account.total_micro : head.credit_micro,
               .grants = account ? grant.transfer->account.grants
                                 : wire::CountedBy(grant.transfer->share_of, head.flags)});
    return Status::Ok();
  }
  if (head.kind == wire::GrantKind::kHostMerged) return Status::Ok();
  if (head.kind == wire::GrantKind::kOpening) {
    ++openings_;
    if (head.host)
      AddRecord(k, AuditedAccount::kHost, head.project, head.host.value, {.micro = head.credit_micro});
    else if (head.user)
      AddRecord(k, AuditedAccount::kUser, head.project, head.user.value, {.micro = head.credit_micro});
    return Status::Ok();
  }
  TakeAward(k, offset, grant);
  if (grant.undone) corrections_.Take(grant, place.Text());
  return grants_.Take(grant, place);
}

void LedgerAudit::TakeAward(std::uint32_t k, std::uint64_t offset, const wire::Grant& grant) {
  const wire::GrantHead& head = grant.head;
  granted_ += head.credit_micro;
  const AuditedSum sum{.micro = head.credit_micro, .grants = wire::CountedBy(head)};
  AddRecord(k, AuditedAccount::kHost, head.project, head.host.value, sum);
  if (!head.user) return;
  const auto& unnamed = snapshots_[k].unnamed;
  const auto user = unnamed.find({head.project.value, head.user.value});
  const bool expired = user != unnamed.end() && user->second.Expired(offset);
  expired_ += expired ? 1 : 0;
  AddRecord(k, expired ? AuditedAccount::kExpired : AuditedAccount::kUser, head.project, head.user.value,
            sum);
  if (const credit::MicroTotal change = ProvisionalChange(head); change != 0)
    AddRecord(k, AuditedAccount::kProvisional, head.project, head.user.value, {.micro = change});
}

// A record that another partition sent (a host's account, or a share of a grant) counts as arrived only if it
// was sent before the sender's snapshot.
void LedgerAudit::TakeTransfer(const wire::Grant& grant, const AuditedPlace& place) {
  const wire::HostTransfer& transfer = *grant.transfer;
  if (transfer.from_partition >= snapshots_.size())
    return problems_.Add(place.Text() + ": transferred from unknown partition " +
                         std::to_string(transfer.from_partition));
  const AuditedHost host{grant.head.project.value, grant.head.host.value};
  const SentByHost& all_sent = snapshots_[transfer.from_partition].sent;
  const auto sent = all_sent.find(host);
  if (sent == all_sent.end() || transfer.number > sent->second.records) return;
  SentRecords& arrived = arrived_[transfer.from_partition][host];
  ++arrived.records;
  const bool account = grant.head.kind == wire::GrantKind::kHostAccount;
  arrived.sum.micro += account ? transfer.account.total_micro : grant.head.credit_micro;
  arrived.sum.grants +=
      account ? transfer.account.grants : wire::CountedBy(transfer.share_of, grant.head.flags);
}

void LedgerAudit::CheckTransfers() {
  for (std::uint32_t k = 0; k < snapshots_.size(); ++k)
    for (const auto& [host, sent] : snapshots_[k].sent) {
      const SentRecords& arrived = arrived_[k][host];
      if (arrived.records == sent.records && arrived.sum.micro == sent.sum.micro &&
          arrived.sum.grants == sent.sum.grants)
        continue;
      problems_.Add(
          "host " + std::to_string(host.second) + " of project " + std::to_string(host.first) +
          " moved: partition " + std::to_string(k) + " sent " + std::to_string(sent.records) +
          " records, but the ledger has " + std::to_string(arrived.records) + " records; they differ by " +
          std::to_string(static_cast<long long>(sent.sum.micro - arrived.sum.micro)) + " micro-credits and " +
          std::to_string(static_cast<long long>(sent.sum.grants - arrived.sum.grants)) + " grants");
    }
}

Status LedgerAudit::CheckMerges() {
  if (merges_.merges() > 0) {
    const auto log = pipeline_.LogOf(wire::kRefused);
    const stream::TopicPartition where{wire::kRefused, 0};
    const auto end = ForEachRecordOf(*log, where, log->Begin(where), log->End(where),
                                     [&](std::uint64_t offset, std::string_view record) {
                                       wire::Refused refused;
                                       if (wire::DecodeRefused(record, &refused))
                                         merges_.TakeRefused(refused, offset < refused_end_);
                                       return true;
                                     },
                                     {});
    if (!end.ok()) return end.status();
  }
  merges_.Check();
  return Status::Ok();
}

Status LedgerAudit::CheckCorrections() {
  if (corrections_.records() == 0) return Status::Ok();
  const auto found = pipeline_.ledger();
  if (!found.ok()) return found.status();
  const AuditedLedger ledger{.ledger = **found,
                             .each_grant = [&](const std::function<void(std::string_view)>& take) -> Status {
                               for (std::uint32_t k = 0; k < snapshots_.size(); ++k) {
                                 const stream::TopicPartition where{wire::kGrants, k};
                                 const auto end = ForEachRecordOf(
                                     *grants_log_, where, grants_log_->Begin(where), grants_ends_[k],
                                     [&](std::uint64_t, std::string_view record) {
                                       take(record);
                                       return true;
                                     },
                                     {});
                                 if (!end.ok()) return end.status();
                               }
                               return Status::Ok();
                             },
                             .is_behind =
                                 [&](const view::LedgerPlace& grant) {
                                   return grant.offset >= snapshots_[grant.partition].grants_end;
                                 },
                             .projects = projects_};
  return corrections_.Check(ledger);
}

Status LedgerAudit::ReadPostings(std::uint32_t k) {
  const auto log = pipeline_.LogOf(wire::kPostings);
  return ForEachRecord(*log, {wire::kPostings, k}, snapshots_[k].postings_end,
                       [&](std::uint64_t offset, std::string_view record) -> Status {
                         if (wire::IsPassedPosting(record)) return Status::Ok();
                         ++postings_;
                         wire::Posting posting;
                         if (!wire::DecodePosting(record, &posting)) {
                           problems_.Add("posting at partition " + std::to_string(k) + ", offset " +
                                         std::to_string(offset) + " cannot be decoded");
                           return Status::Ok();
                         }
                         results_.Take(posting, k, offset);
                         posted_ += posting.credit_micro;
                         AddRecord(k, AuditedAccount::kTeam, posting.project, posting.team.value,
                                   {.micro = posting.credit_micro, .grants = wire::CountedBy(posting)});
                         return Status::Ok();
                       });
}

AuditReport LedgerAudit::Report() const {
  const GrantCounts& counts = grants_.counts();
  std::uint64_t waiting = 0;
  std::uint64_t half_told = 0;
  for (const AuditSnapshot& snapshot : snapshots_) {
    waiting += snapshot.waiting_grants;
    half_told += snapshot.results_half_told;
  }
  return {.answer = {{"grants", counts.finals},
                     {"partial_grants", counts.partials},
                     {"unpaid_trickles", counts.unpaid},
                     {"invalid_results", counts.invalid},
                     {"reversals", counts.reversals},
                     {"corrections", corrections_.records()},
                     {"settlements_recomputed", counts.settlements},
                     {"late_grants", counts.late},
                     {"opening_balances", openings_},
                     {"host_moves", host_moves_},
                     {"host_merges", merges_.merges()},
                     {"host_merges_waiting", merges_.waiting()},
                     {"host_merges_refused", merges_.refused()},
                     {"estimates", estimates_.records()},
                     {"postings", postings_},
                     {"waiting_for_user", waiting},
                     {"expired_grants", expired_},
                     {"results_half_told", half_told},
                     {"accounts", compared_},
                     {"granted_micro", std::to_string(static_cast<long long>(granted_))},
                     {"posted_micro", std::to_string(static_cast<long long>(posted_))},
                     {"problem_count", problems_.count()},
                     {"problems", problems_.told()}},
          .outcome = {.problems = problems_.count(),
                      .grants = counts.finals,
                      .waiting_grants = waiting,
                      .expired_grants = expired_,
                      .results_half_told = half_told}};
}

}  // namespace

Result<AuditReport> AuditLedger(AuditedPipeline& pipeline, const AuditOptions& options) {
  LedgerAudit audit(pipeline, options);
  if (Status s = audit.Run(); !s.ok()) return s;
  return audit.Report();
}

}  // namespace cobblestone
