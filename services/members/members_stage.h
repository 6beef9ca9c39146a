// MEMBERS, by account: the accounts of all projects of a federation hub, with their daily history. Sends the cross-project
// ids of users and the deletions of accounts to IDENTITY, and reports on topic `passed` each watermark that this partition
// has passed.
//
// An account that no complete edition has contained for the project's `erase_after`, in the hub's time, is erased: its row
// and its days. Only a hash of a user stays. What appears under its number later is a new account without a past.
//
// In: control, hosts, users, teams; one partition of each. Out: identity-facts, passed, refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "common/stream/watermarks.h"
#include "common/wire/events/events.h"
#include "services/members/member_days.h"
#include "services/members/member_rows.h"
#include "services/stage/expiry.h"

namespace cobblestone::members {

struct MembersOptions {
  std::uint32_t partition = 0;
  double future_limit = 3600;  // s: most that an event's time may be after the time of its append
  std::size_t rows_per_commit = stage::CommitBudget::kRows;
};

class MembersStage final : public stream::Stage {
 public:
  enum Input : std::size_t { kControl, kHosts, kUsers, kTeams };
  static std::vector<stream::TopicPartition> Inputs(std::uint32_t partition);

  MembersStage(const MembersOptions& options, stream::TableHost& tables);

  void Process(std::size_t input, const stream::RecordView& record, stream::Emitter& out) override;
  void Finish(stream::Emitter& out) override;
  [[nodiscard]] bool Unfinished() const override { return watermarks_.begun(); }
  Status Opened() override;
  [[nodiscard]] std::vector<stream::TableBase*> tables() override;

  stream::Watermarks& watermarks() { return watermarks_; }

 private:
  struct Kind {
    stream::Table<MemberRow> rows;
    DayRows days;
  };

  void OnControl(const stream::RecordView& record, stream::Emitter& out);
  void OnRelayed(const wire::Event& event);
  void OnAccount(const stream::RecordView& record, const wire::EventHead& head, wire::FeedAccount&& account,
                 Kind& kind, stream::Emitter& out);
  void ReportId(const wire::EventHead& head, const wire::FeedAccount& account, const MemberRow* before,
                stream::Emitter& out);
  void OnErased(const wire::EventHead& head, const wire::FeedAccount& account, stream::Emitter& out);
  [[nodiscard]] bool IsBuried(const stream::Key& key, double time);
  Kind& KindOf(wire::AccountKind kind);
  // Erases what is due at this time of the hub. False: the commit's budget is spent.
  bool EraseDue(double now, stream::Emitter& out);
  bool NoteAbsent(std::uint32_t project);
  bool EraseDueOf(std::uint32_t project, double now, stream::Emitter& out);
  void Erase(const stream::Key& key, wire::AccountKind kind, double until, stream::Emitter& out);
  void PassWatermarks(stream::Emitter& out);

  MembersOptions options_;
  stream::Table<ProjectRow> projects_;
  stream::Table<AbsentRow> absent_;
  stream::Table<TombstoneRow> tombstones_;
  Kind hosts_;
  Kind users_;
  Kind teams_;
  stream::Watermarks watermarks_;
  stage::Expiry expiry_;
  stage::CommitBudget budget_;
  std::map<std::uint32_t, double> erased_;  // by project: the hub's time for which nothing is due any more
  std::string bytes_;                       // reused
};

}  // namespace cobblestone::members
