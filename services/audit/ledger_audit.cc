#include "services/audit/ledger_audit.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/control/control_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/ledger/counted.h"
#include "common/wire/ledger/refused_codec.h"
#include "services/audit/account_balance.h"
#include "services/audit/audit_record.h"
#include "services/audit/audit_snapshot.h"
#include "services/audit/correction_audit.h"
#include "services/audit/estimate_audit.h"
#include "services/audit/grant_audit.h"
#include "services/audit/merge_audit.h"
#include "services/audit/result_balance.h"
#include "services/grants/grants_stage.h"
#include "services/ledger/ledger_records.h"
#include "services/stage/project_view.h"

namespace cobblestone::audit {

using ledger::ForEachRecordOf;

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
  // After Run(): the record is of another rules version, and nothing was audited.
  [[nodiscard]] bool record_outdated() const { return record_outdated_; }
  [[nodiscard]] AuditReport Report() const;

 private:
  // Reads the record to continue from.
  Status LoadRecord();
  // Whether the state of the partition was upgraded to other rules after the record was made.
  [[nodiscard]] bool HasOtherRules(std::uint32_t k) const;
  Status CheckRecord();
  Status SaveRecord(AuditRecordWriter& writer);
  // `last`: offset of the last record before `next`; not below `next`: there is none.
  Result<AuditedEnd> EndOf(stream::TopicIndex topic, std::uint32_t k, std::uint64_t last, std::uint64_t next);
  Result<ResultBalance::Older> FindOlder(ProjectId project, ResultId result);
  Status LookAtStates();
  Result<const credit::PolicyVersion*> FindPolicy(ProjectId project, AppId app, std::uint32_t version);
  Status ReadControl();
  Status ReadGrants(std::uint32_t k);
  Status TakeGrant(std::uint32_t k, std::uint64_t offset, const wire::Grant& grant, bool behind);
  void TakeAward(std::uint32_t k, std::uint64_t offset, const wire::Grant& grant);
  void TakeTransfer(const wire::Grant& grant, const AuditedPlace& place, bool behind);
  void CheckTransfers();
  Status CheckMerges();
  Status CheckCorrections();
  Status ReadPostings(std::uint32_t k);
  // Reads the partition from `from` to `end`, at which it must have arrived.
  Status ForEachRecord(stream::IndexedLog& log, stream::TopicPartition where, std::uint64_t from,
                       std::uint64_t end,
                       const std::function<Status(std::uint64_t offset, std::string_view record)>& take);
  void Step(std::uint64_t records);
  void AddRecord(std::uint32_t k, AuditedAccount kind, ProjectId project, std::uint64_t id,
                 const AuditedSum& sum) {
    accounts_.AddRecord({.partition = k, .kind = kind, .project = project.value, .id = id}, sum);
  }

  [[nodiscard]] std::uint64_t GrantsFrom(std::uint32_t k) const {
    return record_ ? record_->grants_ends[k].next : 0;
  }
  [[nodiscard]] std::uint64_t PostingsFrom(std::uint32_t k) const {
    return record_ ? record_->postings_ends[k].next : 0;
  }

  AuditedPipeline& pipeline_;
  const AuditOptions& options_;
  std::optional<AuditRecord> record_;  // of the audit to continue from
  bool record_outdated_ = false;
  const std::unique_ptr<stream::IndexedLog> grants_log_;
  AuditProblems problems_;
  std::vector<AuditSnapshot> snapshots_;                  // by partition
  std::vector<std::uint64_t> grants_ends_;                // of the topic, after all snapshots
  std::uint64_t refused_end_ = 0;                         // before all snapshots
  std::map<std::uint32_t, stage::ProjectView> projects_;  // as of the state of partition 0; and FindPolicy()
  bool control_read_ = false;
  AccountBalance accounts_;
  ResultBalance results_;
  GrantAudit grants_{[this](ProjectId project, AppId app, std::uint32_t version) {
                       return FindPolicy(project, app, version);
                     },
                     [this] { return pipeline_.ledger(); }, problems_};
  EstimateAudit estimates_{[this](std::string text) { problems_.Add(std::move(text)); }};
  MergeAudit merges_{[this](std::string text) { problems_.Add(std::move(text)); }};
  CorrectionAudit corrections_{[this](std::string text) { problems_.Add(std::move(text)); }};
  std::vector<SentByHost> arrived_;  // by sending partition
  std::vector<SentByHost> read_;     // likewise: all before the snapshots of the receiving partitions
  // By partition: offset of the last record before the snapshot; the snapshot's end: there is none.
  std::vector<std::uint64_t> last_grants_;
  std::vector<std::uint64_t> last_postings_;
  std::uint64_t refused_from_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t reported_ = 0;
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
  if (options_.since_days > 0)
    if (Status s = LoadRecord(); !s.ok()) return s;
  if (Status s = LookAtStates(); !s.ok()) return s;
  const std::uint32_t n = pipeline_.partitions();
  for (std::uint32_t k = 0; k < n; ++k) grants_ends_.push_back(grants_log_->End({wire::kGrants, k}));
  arrived_.resize(n);
  read_.resize(n);
  for (std::uint32_t k = 0; k < n; ++k) {
    last_grants_.push_back(record_ ? record_->grants_ends[k].last : snapshots_[k].grants_end);
    last_postings_.push_back(record_ ? record_->postings_ends[k].last : snapshots_[k].postings_end);
  }
  if (record_) {
    for (std::uint32_t k = 0; k < n; ++k) record_outdated_ = record_outdated_ || HasOtherRules(k);
    if (record_outdated_) return Status::Ok();
    if (Status s = CheckRecord(); !s.ok()) return s;
  }
  for (std::uint32_t k = 0; k < n; ++k)
    if (Status s = ReadGrants(k); !s.ok()) return s;
  CheckTransfers();
  estimates_.Check();
  if (Status s = CheckMerges(); !s.ok()) return s;
  if (Status s = CheckCorrections(); !s.ok()) return s;
  for (std::uint32_t k = 0; k < n; ++k)
    if (Status s = ReadPostings(k); !s.ok()) return s;
  ResultBalance::FindOlder older;
  if (record_) older = [this](ProjectId project, ResultId result) { return FindOlder(project, result); };
  if (Status s = results_.Compare(problems_, older); !s.ok()) return s;
  std::optional<AuditRecordWriter> writer;
  AccountBalance::Recorded recorded;
  if (!options_.record.empty() && problems_.count() == 0) {
    writer.emplace(options_.record);
    recorded = [&](const AccountBalance::Account& account, const AuditedSum& sum) {
      writer->Add(account, sum);
    };
  }
  const auto compared = accounts_.Compare(problems_, recorded);
  if (!compared.ok()) return compared.status();
  compared_ = *compared;
  if (writer && problems_.count() == 0)
    if (Status s = SaveRecord(*writer); !s.ok()) return s;
  if (options_.progress) options_.progress(all_, all_);
  return Status::Ok();
}

Status LedgerAudit::LoadRecord() {
  auto record = AuditRecord::Load(options_.record, {});
  if (record.status().code() == StatusCode::kNotFound) return Status::Ok();
  if (!record.ok()) return record.status();
  if (options_.at - record->full_at > 86400.0 * options_.since_days) return Status::Ok();
  record = AuditRecord::Load(options_.record, [&](AccountBalance::Account account, const AuditedSum& sum) {
    if (account.kind == AuditedAccount::kExpired) account.kind = AuditedAccount::kUser;
    accounts_.AddRecord(account, sum);
  });
  if (!record.ok()) return record.status();
  const std::size_t n = pipeline_.partitions();
  if (record->grants_ends.size() != n || record->postings_ends.size() != n ||
      record->rules_versions.size() != n)
    return Status::InvalidArgument("the record of the last clean audit, " + options_.record +
                                   ", is of another number of partitions; run `cobblestone audit` without "
                                   "--since, which replaces it");
  record_ = std::move(*record);
  return Status::Ok();
}

bool LedgerAudit::HasOtherRules(std::uint32_t k) const {
  return record_->rules_versions[k] != 0 && record_->rules_versions[k] != snapshots_[k].rules_version;
}

Status LedgerAudit::CheckRecord() {
  const std::string what = "the record of the last clean audit, " + options_.record + ", ";
  const std::string next = "; run `cobblestone audit` without --since, which replaces it";
  for (std::uint32_t k = 0; k < snapshots_.size(); ++k) {
    const auto fits = [&](stream::TopicIndex topic, const AuditedEnd& end, std::uint64_t state) -> Status {
      const bool there = end.next <= state;
      const auto now = there ? EndOf(topic, k, end.last, end.next) : Result<AuditedEnd>(end);
      if (!now.ok()) return now.status();
      if (there && *now == end) return Status::Ok();
      return Status::InvalidArgument(what + "is of another ledger: partition " + std::to_string(k) + " of " +
                                     std::string(wire::TopicName(topic)) +
                                     " has another record before offset " + std::to_string(end.next) +
                                     ", or ends before it" + next);
    };
    Status s = fits(wire::kGrants, record_->grants_ends[k], snapshots_[k].grants_end);
    if (s.ok()) s = fits(wire::kPostings, record_->postings_ends[k], snapshots_[k].postings_end);
    if (!s.ok()) return s;
  }
  for (const AuditedArrival& one : record_->arrivals)
    arrived_[one.from][{one.project, one.host}] = {one.records, {one.micro, one.grants}};
  read_ = arrived_;
  refused_from_ = record_->refused_end;
  if (!estimates_.Continue(record_->estimates) || !merges_.Continue(record_->merges))
    return Status::InvalidArgument(what + "has another format" + next);
  return Status::Ok();
}

Status LedgerAudit::SaveRecord(AuditRecordWriter& writer) {
  AuditRecord record{.at = options_.at,
                     .full_at = record_ ? record_->full_at : options_.at,
                     .grants = grants_.counts().finals + (record_ ? record_->grants : 0),
                     .rules_versions = {},
                     .grants_ends = {},
                     .postings_ends = {},
                     .refused_end = refused_end_,
                     .arrivals = {},
                     .estimates = estimates_.Save(),
                     .merges = merges_.Save()};
  for (std::uint32_t k = 0; k < snapshots_.size(); ++k) {
    const auto add = [&](stream::TopicIndex topic, std::uint64_t last, std::uint64_t next,
                         std::vector<AuditedEnd>& ends) {
      const auto found = EndOf(topic, k, last, next);
      if (found.ok()) ends.push_back(*found);
      return found.status();
    };
    const AuditSnapshot& snapshot = snapshots_[k];
    record.rules_versions.push_back(snapshot.rules_version);
    Status s = add(wire::kGrants, last_grants_[k], snapshot.grants_end, record.grants_ends);
    if (s.ok()) s = add(wire::kPostings, last_postings_[k], snapshot.postings_end, record.postings_ends);
    if (!s.ok()) return s;
    for (const auto& [host, arrived] : read_[k])
      record.arrivals.push_back({.from = k,
                                 .project = host.first,
                                 .host = host.second,
                                 .records = arrived.records,
                                 .micro = arrived.sum.micro,
                                 .grants = arrived.sum.grants});
  }
  return writer.Finish(record);
}

Result<AuditedEnd> LedgerAudit::EndOf(stream::TopicIndex topic, std::uint32_t k, std::uint64_t last,
                                      std::uint64_t next) {
  AuditedEnd end{.next = next, .last = last, .hash = {}};
  if (last >= next) return end;
  stream::Hasher hasher;
  const auto log = pipeline_.LogOf(topic);
  const auto at = ForEachRecordOf(*log, {topic, k}, last, last + 1,
                                  [&](std::uint64_t, std::string_view record) {
                                    hasher.Scalar(record.size());
                                    hasher.Bytes(record);
                                    return true;
                                  },
                                  {});
  if (!at.ok()) return at.status();
  end.hash = hasher.Digest();
  return end;
}

// Records of the result before the place from which this audit reads.
Result<ResultBalance::Older> LedgerAudit::FindOlder(ProjectId project, ResultId result) {
  ResultBalance::Older older;
  const auto ledger = pipeline_.ledger();
  if (!ledger.ok()) return ledger.status();
  const auto grants = (*ledger)->GrantsOf(project, result);
  if (!grants.ok()) return grants.status();
  for (const view::LedgerPlace& place : *grants) {
    if (place.offset >= GrantsFrom(place.partition)) continue;
    Status s = (*ledger)->ReadGrant(place, [&](std::string_view record) {
      wire::Grant grant;
      if (wire::DecodeGrant(record, &grant) && wire::IsAward(grant.head.kind) &&
          grant.head.project == project && grant.head.result == result)
        older.awards.push_back(
            {.grant = std::move(grant), .partition = place.partition, .offset = place.offset});
      return true;
    });
    if (!s.ok()) return s;
  }
  if (older.awards.empty()) return older;
  const auto postings = (*ledger)->PostingsOf(project, result);
  if (!postings.ok()) return postings.status();
  for (const view::LedgerPlace& place : *postings) {
    if (place.offset >= PostingsFrom(place.partition)) continue;
    Status s = (*ledger)->ReadPosting(place, [&](std::string_view record) {
      wire::Posting posting;
      if (!wire::IsPassedPosting(record) && wire::DecodePosting(record, &posting) &&
          posting.project == project && posting.result == result)
        older.postings.push_back(posting);
      return true;
    });
    if (!s.ok()) return s;
  }
  return older;
}

Status LedgerAudit::LookAtStates() {
  refused_end_ = pipeline_.LogOf(wire::kRefused)->End({wire::kRefused, 0});
  for (std::uint32_t k = 0; k < pipeline_.partitions(); ++k) {
    Status s = pipeline_.Look(k, [&](const AuditedState& state) {
      auto snapshot = TakeSnapshot(k, state, record_.has_value(), accounts_);
      if (!snapshot.ok()) return snapshot.status();
      all_ += snapshot->grants_end + snapshot->postings_end;
      all_ -= std::min(all_, GrantsFrom(k) + PostingsFrom(k));
      snapshots_.push_back(std::move(*snapshot));
      Status looked = estimates_.Look(state.accounts);
      if (looked.ok()) looked = merges_.Look(k, pipeline_.lockstep(), state.accounts);
      if (looked.ok() && k == 0)
        looked = view::ForEach(state.grants, grants::kProjectsTable,
                               [&](const stream::Key& key, const stage::ProjectView& view) {
                                 projects_[key.project] = view;
                                 return Status::Ok();
                               });
      return looked;
    });
    if (!s.ok()) return s;
  }
  return Status::Ok();
}

// The partitions may stand at different commits. A partition that is ahead of partition 0 has grants under policies
// that partition 0 has not read yet.
Result<const credit::PolicyVersion*> LedgerAudit::FindPolicy(ProjectId project, AppId app,
                                                             std::uint32_t version) {
  const auto find = [&]() -> const credit::PolicyVersion* {
    const auto view = projects_.find(project.value);
    return view == projects_.end() ? nullptr : view->second.FindPolicy(app, version);
  };
  const credit::PolicyVersion* policy = find();
  if (policy != nullptr || control_read_) return policy;
  if (Status s = ReadControl(); !s.ok()) return s;
  return find();
}

// Adds the policies of all events that the coordinator has relayed by now.
Status LedgerAudit::ReadControl() {
  control_read_ = true;
  const stream::TopicPartition where{wire::kControl, 0};
  const auto log = pipeline_.LogOf(wire::kControl);
  std::map<std::uint32_t, stage::ProjectView> relayed;
  Status applied;
  const auto end = ForEachRecordOf(*log, where, log->Begin(where), log->End(where),
                                   [&](std::uint64_t, std::string_view record) {
                                     wire::ControlView control;
                                     if (!wire::DecodeControl(record, &control)) {
                                       applied = Status::Corrupted("a control record cannot be decoded");
                                     } else if (control.kind == wire::ControlKind::kEvent) {
                                       applied =
                                           stage::ApplyControl(control, relayed[control.head.project.value]);
                                     }
                                     return applied.ok();
                                   },
                                   {});
  if (!applied.ok()) return applied;
  if (!end.ok()) return end.status();
  for (auto& [project, view] : relayed) {
    const auto [known, is_new] = projects_.try_emplace(project, view);
    if (is_new) continue;
    for (const auto& [app, versions] : view.policies)
      known->second.policies[app].insert(versions.begin(), versions.end());
  }
  return Status::Ok();
}

Status LedgerAudit::ForEachRecord(
    stream::IndexedLog& log, stream::TopicPartition where, std::uint64_t from, std::uint64_t end,
    const std::function<Status(std::uint64_t offset, std::string_view record)>& take) {
  Status taken;
  const auto at = ForEachRecordOf(
      log, where, std::max(from, log.Begin(where)), end,
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
  if (!options_.progress || done_ - reported_ < kProgressRecords) return;
  reported_ = done_;
  options_.progress(done_, all_);
}

// Records behind the snapshot are read too: other partitions, whose snapshots are newer, rest on them.
Status LedgerAudit::ReadGrants(std::uint32_t k) {
  const std::uint64_t snapshot_end = snapshots_[k].grants_end;
  const std::uint64_t end = std::max(snapshot_end, grants_ends_[k]);
  return ForEachRecord(*grants_log_, {wire::kGrants, k}, GrantsFrom(k), end,
                       [&](std::uint64_t offset, std::string_view record) -> Status {
                         if (offset < snapshot_end) last_grants_[k] = offset;
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
  if (head.kind == wire::GrantKind::kWatermark) return Status::Ok();
  if (grant.transfer) TakeTransfer(grant, place, behind);
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
  AddRecord(k, expired && !record_ ? AuditedAccount::kExpired : AuditedAccount::kUser, head.project,
            head.user.value, sum);
  if (const credit::MicroTotal change = ProvisionalChange(head); change != 0)
    AddRecord(k, AuditedAccount::kProvisional, head.project, head.user.value, {.micro = change});
}

// A record that another partition sent (a host's account, or a share of a grant) counts as arrived only if it
// was sent before the sender's snapshot.
void LedgerAudit::TakeTransfer(const wire::Grant& grant, const AuditedPlace& place, bool behind) {
  const wire::HostTransfer& transfer = *grant.transfer;
  if (transfer.from_partition >= snapshots_.size())
    return problems_.Add(place.Text() + ": transferred from unknown partition " +
                         std::to_string(transfer.from_partition));
  const AuditedHost host{grant.head.project.value, grant.head.host.value};
  const bool account = grant.head.kind == wire::GrantKind::kHostAccount;
  const auto add = [&](SentRecords& to) {
    ++to.records;
    to.sum.micro += account ? transfer.account.total_micro : grant.head.credit_micro;
    to.sum.grants += account ? transfer.account.grants : wire::CountedBy(transfer.share_of, grant.head.flags);
  };
  if (!behind) add(read_[transfer.from_partition][host]);
  const SentByHost& all_sent = snapshots_[transfer.from_partition].sent;
  const auto sent = all_sent.find(host);
  if (sent != all_sent.end() && transfer.number <= sent->second.records)
    add(arrived_[transfer.from_partition][host]);
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
    const auto end = ForEachRecordOf(*log, where, std::max(refused_from_, log->Begin(where)), log->End(where),
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
  return ForEachRecord(*log, {wire::kPostings, k}, PostingsFrom(k), snapshots_[k].postings_end,
                       [&](std::uint64_t offset, std::string_view record) -> Status {
                         last_postings_[k] = offset;
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
  std::uint64_t waiting_results = 0;
  for (const AuditSnapshot& snapshot : snapshots_) {
    waiting += snapshot.waiting_grants;
    waiting_results += snapshot.waiting_results;
  }
  AuditReport report{.answer = {{"grants", counts.finals},
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
                                {"waiting_results", waiting_results},
                                {"accounts", compared_},
                                {"granted_micro", std::to_string(static_cast<long long>(granted_))},
                                {"posted_micro", std::to_string(static_cast<long long>(posted_))},
                                {"problem_count", problems_.count()},
                                {"problems", problems_.texts()}},
                     .outcome = {.problems = problems_.count(),
                                 .grants = counts.finals,
                                 .waiting_grants = waiting,
                                 .expired_grants = expired_,
                                 .waiting_results = waiting_results}};
  if (record_) report.answer["since"] = {{"at", record_->at}, {"grants", record_->grants}};
  return report;
}

}  // namespace

Result<AuditReport> AuditLedger(AuditedPipeline& pipeline, const AuditOptions& options) {
  {
    LedgerAudit audit(pipeline, options);
    if (Status s = audit.Run(); !s.ok()) return s;
    if (!audit.record_outdated()) return audit.Report();
  }
  // An upgrade of the rules must not end the series of audits: the first one after it reads all.
  AuditOptions full = options;
  full.since_days = 0;
  return AuditLedger(pipeline, full);
}

}  // namespace cobblestone::audit
