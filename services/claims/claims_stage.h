// CLAIMS, by host: joins completion and validation of a result in either order, keeps the host's statistics, prices the
// result by its app's policy, and passes claims on to GRANTS and samples to the coordinator. Pays for the trickles of jobs
// that run.
//
// Time: after a watermark (stream/watermarks.h) has passed, rows that waited too long expire, the samples of a tick are
// complete, and the watermark is passed on to every partition of claims.
//
// In: control, hosts (including reports of account managers: machines.h), dispatches, completions, validations,
// trickles of one partition. Out: claims, samples, grants (the opening balance of a host; moves and merges of
// its account; partial grants, and an operator's corrections of them for running jobs; estimates), hosts (the
// question who owns the target host of a merge; records about results of merged hosts), refused.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/stream/calendar.h"
#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "common/stream/watermarks.h"
#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/grant_kind.h"
#include "common/wire/ledger/partial_codec.h"
#include "common/wire/ledger/refusal.h"
#include "services/claims/forwarding.h"
#include "services/claims/machines.h"
#include "services/claims/open_jobs.h"
#include "services/claims/profiles.h"
#include "services/claims/state.h"
#include "services/stage/expiry.h"
#include "services/stage/project_view.h"

namespace cobblestone::claims {

struct ClaimsOptions {
  std::uint32_t partition = 0;
  std::uint32_t partitions = 1;
  double future_limit = 3600;  // s: most that an event's time may be after the time of its append
  bool lockstep = false;       // `order: lockstep`
  std::size_t rows_per_commit = stage::CommitBudget::kRows;  // for tests
};

class ClaimsStage final : public stream::Stage {
 public:
  // Inputs in order of registration.
  enum Input : std::size_t { kControl, kHosts, kDispatches, kCompletions, kValidations, kTrickles };
  static std::vector<stream::TopicPartition> Inputs(std::uint32_t partition);

  ClaimsStage(const ClaimsOptions& options, stream::TableHost& tables);

  // Lockstep: records after a watermark wait until all records before the watermark have been read on the other inputs.
  [[nodiscard]] bool Ready(std::size_t input) const override {
    return !options_.lockstep || input == kControl || !watermarks_.Ahead(input - kHosts);
  }
  void Process(std::size_t input, const stream::RecordView& record, stream::Emitter& out) override;
  void Finish(stream::Emitter& out) override;
  [[nodiscard]] bool Unfinished() const override { return watermarks_.begun() || releasing_.rows() > 0; }
  Status Opened() override;
  [[nodiscard]] std::vector<stream::TableBase*> tables() override;

  // For queries, between commits.
  stream::Table<HostState>& hosts() { return hosts_; }
  stream::Table<Pending>& pending() { return pending_; }
  stream::Table<SeenRun>& runs() { return runs_; }
  stream::Table<OpenJob>& jobs() { return jobs_; }
  stream::Table<WaitingOpening>& openings() { return openings_; }
  stream::Table<HostProfileRow>& profiles() { return profiles_; }
  stream::Table<stage::FactsRow>& facts() { return facts_; }
  stream::Table<stage::ProjectView>& projects() { return projects_; }
  stream::Watermarks& watermarks() { return watermarks_; }
  [[nodiscard]] std::uint64_t duplicates() const { return duplicates_ + machines_.duplicates(); }

 private:
  struct Job;  // the record in process: its origin, project, app and times

  void OnControl(const stream::RecordView& record, stream::Emitter& out);
  void OnOutside(std::size_t input, const stream::RecordView& record, stream::Emitter& out);
  void OnWatermark(std::size_t input, const wire::Watermark& watermark, stream::Emitter& out);
  void PassWatermarks(stream::Emitter& out);
  // False: rows that are due at the watermark are left for the next commit.
  bool Pass(const wire::Watermark& watermark, stream::Emitter& out);
  void EmitPassed(const wire::Passed& passed, stream::Emitter& out);
  // For a record that is no event of its topic: processes a watermark, refuses anything else.
  void OnOther(std::size_t input, const stream::RecordView& record, std::string detail, stream::Emitter& out);
  void OnMember(const stream::RecordView& record, stream::Emitter& out);
  void OnHost(const stream::RecordView& record, const wire::EventHead& head, const wire::HostMember& member,
              stream::Emitter& out);
  void TakeHost(const wire::EventHead& head, const wire::HostMember& member, wire::FieldMask news,
                const stream::Key& key, HostState& state, stream::Emitter& out);
  void OnFacts(const stream::RecordView& record, const wire::EventHead& head, wire::AccountFacts facts,
               stream::Emitter& out);
  void OnMerge(const stream::RecordView& record, const wire::EventHead& head, const wire::HostMerge& merge,
               stream::Emitter& out);
  // Asks the partition of a merge's target host whether `asked.user` owns the target. OnOwnerQuestion() runs in that
  // partition; its answer goes to ACCOUNTS, through the ledger (merges.cc).
  void AskOwner(const stream::RecordView& record, const wire::EventHead& head, const wire::HostAsked& asked,
                stream::Emitter& out);
  // Sends an event to the partition of this stage that has host `to`.
  void SendToPeer(ProjectId project, HostId to, const wire::Event& event, std::uint64_t line,
                  stream::Emitter& out);
  std::uint64_t WatermarkCount();
  void OnOwnerQuestion(const wire::EventHead& head, const wire::HostAsked& asked, stream::Emitter& out);
  void EmitOwnerAnswer(const wire::EventHead& head, wire::GrantKind kind, HostId host, UserId user,
                       stream::Emitter& out);
  // Results of hosts that have become other hosts (forwarding.h).
  void SendHolderToMergeTarget(const stream::Key& result, HostId host, const credit::AppRow* app,
                               double until, std::uint64_t line, stream::Emitter& out);
  void SendResultHolder(const wire::HeldResult& held, ProjectId project, double time, std::uint64_t line,
                        stream::Emitter& out);
  void SendHoldersToMergeTarget(ProjectId project, HostId host, std::uint64_t line, stream::Emitter& out);
  void RelayHolder(const stream::Key& key, const ForwardedResult& row, std::uint64_t line,
                   stream::Emitter& out);
  double RememberedUntil(ProjectId project, const Seen& seen);  // UNIX s
  bool ApplyResultHolder(ProjectId project, const wire::HeldResult& held);
  bool IsDecided(const stream::Key& result, HostId host);
  void ForwardResult(const stream::Key& result, std::uint64_t line, stream::Emitter& out);
  // False: the event belongs to this partition.
  bool ForwardEvent(const stream::RecordView& record, ProjectId project, ResultId result, HostId named,
                    stream::Emitter& out);
  bool ExpireForwarded(ProjectId project);  // as Expire()
  struct PeerMessage {
    stream::RecordView record;
    wire::Event event;
  };
  void OnPeerMessage(const stream::RecordView& record, wire::Event event, stream::Emitter& out);
  void ProcessDuePeerMessages(stream::Emitter& out);
  void ProcessPeerMessages(std::span<const PeerMessage> all, stream::Emitter& out);
  std::uint64_t CountMoved();  // lockstep: the number of records in flight, or sent since the last barrier
  void ProcessForwarded(const stream::RecordView& record, std::uint32_t hops, stream::Emitter& out);
  void OnDecidedResult(const stream::RecordView& record, const wire::EventHead& head,
                       const wire::DecidedResult& decided, stream::Emitter& out);
  // Notifies both partitions of accounts (which may be the same) that the host's account moves to another
  // owner.
  void EmitMove(const wire::EventHead& head, HostId host, UserId from, UserId to, stream::Emitter& out);
  // An operator reverses payments of a running job (reversed_jobs.cc).
  void OnJobReversal(const stream::RecordView& record, const wire::EventHead& head,
                     const wire::JobReversal& reversal, stream::Emitter& out);
  // Null: refused, or a duplicate.
  OpenJob* AdmitReversal(const stream::RecordView& record, const wire::EventHead& head,
                         const wire::JobReversal& reversal, stream::Emitter& out);
  // Null: refused, because no job of the result runs on that host.
  const OpenJob* RunningJob(const stream::Key& key, HostId host, const stream::RecordView& record,
                            stream::Emitter& out);
  // An operator reprices a running job by another version of the policy (repriced_jobs.cc).
  void OnJobRepricing(const stream::RecordView& record, const wire::EventHead& head,
                      const wire::JobRepricing& repricing, stream::Emitter& out);
  void PayRepriced(const stream::RecordView& record, const wire::EventHead& head,
                   const wire::JobRepricing& repricing, const wire::RepricedShare& share, OpenJob& job,
                   stream::Emitter& out);
  void OnOpeningRow(const stream::RecordView& record, const wire::EventHead& head,
                    const wire::OpeningHostVersion& opening, stream::Emitter& out);
  void OnOpeningTotal(const stream::RecordView& record, const wire::EventHead& head,
                      const wire::OpeningTotal& opening, stream::Emitter& out);
  void EmitOpening(const stream::Key& key, HostState& host, const wire::EventStamp& stamp,
                   const wire::OpeningTotal& opening, stream::Emitter& out);
  // Emits the balance that waited for the host's event, if there is one.
  void ReleaseOpening(const stream::Key& key, HostState& host, stream::Emitter& out);
  bool ExpireOpenings(ProjectId project, stream::Emitter& out);  // as Expire()
  void OnDispatch(const stream::RecordView& record, stream::Emitter& out);
  // Jobs that are paid while they run.
  void OpenJobOf(const stream::Key& key, const wire::Dispatch& dispatch, bool is_newest,
                 stream::Emitter& out);
  static void PriceSending(const wire::Dispatch& dispatch, const stage::ProjectView& view,
                           const credit::HostRecord& host, OpenJob& job);
  bool PriceOrWait(const stream::Key& key, const wire::Dispatch& dispatch, OpenJob& job,
                   stream::Emitter& out);
  // Processes the rows that waited for the host's event: first jobs without a price, then results. Rows beyond the
  // commit's budget are left for the next commits.
  void Release(const stream::Key& host, HostState& state, stream::Emitter& out);
  void PriceJobOf(ProjectId project, HostId host, std::uint64_t result, const HostState& state,
                  stream::Emitter& out);
  void TakeWaiting(const stream::Key& key, stream::Table<WaitingTrickles>& table, stream::Emitter& out);
  void WaitForJob(const stream::Key& key, double time, const stream::RecordView& record,
                  stream::Table<WaitingTrickles>& table, stream::Emitter& out);
  // A dispatch that arrived after the decision.
  void OpenEndedJob(const stream::Key& key, const stream::RecordView& record, const wire::Dispatch& dispatch,
                    stream::Emitter& out);
  void RefuseWaiting(ProjectId project, const wire::Dispatch& dispatch, stream::Emitter& out);
  void RefuseTrickle(const stream::RecordView& record, ProjectId project, ResultId result,
                     wire::RefusalReason reason, std::string detail, stream::Emitter& out);
  // Writes a trickle that was paid nothing to the ledger, where no stage uses it.
  void EmitUnpaidTrickle(const stream::RecordView& record, ProjectId project, ResultId result, HostId host,
                         const wire::PartialGrant& unpaid, std::string_view detail, stream::Emitter& out);
  void OnTrickle(const stream::RecordView& record, stream::Emitter& out);
  [[nodiscard]] double ReturnTime(const stream::Key& key);
  void PayTrickle(const stream::Key& key, const wire::EventHead& head, const wire::Trickle& trickle,
                  const stream::RecordView& record, stream::Emitter& out);
  // CloseJob() and EndJob() do nothing if the result has no job, or if the job has ended.
  void CloseJob(const stream::Key& key, const Pending& pending, credit::Claim& claim);
  void EndJob(const stream::Key& key, const Pending& pending, double time, std::uint64_t line,
              std::string_view reason, stream::Emitter& out);
  // For a decided result, which is remembered: its job is kept if later trickles are paid, and deleted
  // otherwise.
  void LeaveJob(const stream::Key& key, const Pending* pending, const credit::CompletionFacts& back,
                std::uint64_t line);
  void ForgetJob(const stream::Key& key);
  // For results that are in no closed run yet. Returns the last day on which one of them is still remembered;
  // 0: none.
  std::int32_t ForgetEndedJobs(const stream::Key& host, const stage::ProjectView& view);
  void EraseJob(const stream::Key& key, const OpenJob& job);
  bool ExpireTrickles(ProjectId project, stream::Emitter& out);  // as Expire()
  void OnCompletion(const stream::RecordView& record, stream::Emitter& out);
  void OnValidation(const stream::RecordView& record, stream::Emitter& out);
  void OnError(const stream::RecordView& record, const stage::ProjectView& view, const credit::AppRow& app,
               stream::Emitter& out);

  // Checks that are the same for all events about a result; null when refused.
  const stage::ProjectView* Admit(const stream::RecordView& record, const wire::EventHead& head, AppId app,
                                  stream::Emitter& out);
  void Join(ProjectId project, ResultId result, HostId host, stream::Emitter& out);
  void JoinDecoded(const stream::Key& key, const Pending& waiting, const credit::CompletionFacts& job,
                   credit::ValidationFacts& checked, stream::Emitter& out);
  // Writes to the ledger that the result was judged invalid, with the claim that it would have made. An
  // operator may reinstate the result from this record.
  void EmitInvalid(ProjectId project, const credit::CompletionFacts& job,
                   const credit::ValidationFacts& checked, const credit::HostRecord& host,
                   stream::Emitter& out);
  void EmitExpired(ProjectId project, const credit::ValidationFacts& validation, std::uint64_t line,
                   stream::Emitter& out);
  // Expires rows that have waited longer than their windows. False: the commit's budget is spent, and some due rows
  // are left.
  bool Expire(ProjectId project, double now, stream::Emitter& out);
  std::uint64_t ExpirePending(ProjectId project, const stream::Key& key, double now, stream::Emitter& out);
  void WaitsFrom(ProjectId project, double since, double window);

  void EmitSamples(stream::Emitter& out);
  // Continues the work that earlier commits have left.
  void Continue(stream::Emitter& out);

  // Null if the result is not remembered, or no longer.
  const Seen* FindSeen(ProjectId project, const stage::ProjectView& view, HostId host, std::uint64_t result,
                       std::uint8_t kind);
  void Remember(ProjectId project, const stage::ProjectView& view, HostId host, HostState& state,
                const Seen& seen, std::uint64_t line, stream::Emitter& out);
  void DropRuns(std::uint32_t project, const stage::ProjectView& view, std::uint64_t host, HostState& state);
  // Deletes the ended runs of up to `hosts` hosts whose retention has ended.
  void Forget(std::size_t hosts);

  ClaimsOptions options_;
  stream::Table<HostState> hosts_;
  stream::Table<SeenRun> runs_;
  stream::Table<Pending> pending_;
  stream::Table<OpenJob> jobs_;
  stream::Table<NamedResult> names_;
  stream::Table<WaitingTrickles> waiting_trickles_;  // by result and host
  stream::Table<WaitingTrickles> waiting_names_;     // as `names_`
  stream::Table<WaitingOpening> openings_;           // by host
  stream::Table<HostProfileRow> profiles_;
  stream::Table<stage::FactsRow> facts_;
  stream::Table<stage::ProjectView> projects_;
  stream::Table<ForwardedResult> forwarded_;
  stream::Table<PeerMessageRow> peer_messages_;  // `order: lockstep`, like the next table
  stream::Table<PeerProgress> peer_progress_;
  stream::Table<Releasing> releasing_;  // by host
  Machines machines_;
  // Hosts that have runs or ended jobs, by a day on which those present at filing have ended; and deleted hosts, by
  // the day after which files no longer list them.
  stream::Calendar calendar_;
  stream::Watermarks watermarks_;
  wire::HotEvent event_;       // of the record in process, reused
  wire::HotEvent completion_;  // decoded again for a join, reused
  wire::HotEvent validation_;
  credit::ClaimDecision decision_;                                // reused
  std::string bytes_;                                             // reused
  std::string late_trickle_;                                      // reused
  std::map<std::uint32_t, std::vector<credit::Sample>> samples_;  // by project, of this commit
  // By project: no waiting row expires before this time. Derived: absent means unknown, so all are examined.
  std::map<std::uint32_t, double> first_due_;
  stage::Expiry expiry_;
  stage::CommitBudget budget_;
  std::uint32_t hops_ = 0;        // partitions that the record in process has passed through
  std::uint64_t duplicates_ = 0;  // dropped since open; a statistic, not state
};

}  // namespace cobblestone::claims
