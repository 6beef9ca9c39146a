// MEMBERS, by account: the accounts of all projects of a federation hub, with their daily history. Sends the cross-project
// ids of users to IDENTITY, and reports on topic `passed` each watermark that this partition has passed.
//
// In: control (watermarks only), hosts, users, teams; one partition of each. Out: identity-facts, passed, refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "common/stream/watermarks.h"
#include "common/wire/events/events.h"
#include "services/members/member_rows.h"
#include "services/stage/day_rows.h"

namespace cobblestone::members {

struct MembersOptions {
  std::uint32_t partition = 0;
  double future_limit = 3600;  // s: most that an event's time may be after the time of its append
};

class MembersStage final : public stream::Stage {
 public:
  enum Input : std::size_t { kControl, kHosts, kUsers, kTeams };
  static std::vector<stream::TopicPartition> Inputs(std::uint32_t partition);

  MembersStage(const MembersOptions& options, stream::TableHost& tables);

  void Process(std::size_t input, const stream::RecordView& record, stream::Emitter& out) override;
  Status Opened() override;
  [[nodiscard]] std::vector<stream::TableBase*> tables() override;

  stream::Watermarks& watermarks() { return watermarks_; }

 private:
  struct Kind {
    stream::Table<MemberRow> rows;
    stage::DayTable<credit::DaySum> days;
  };

  void OnControl(const stream::RecordView& record, stream::Emitter& out);
  void OnAccount(const stream::RecordView& record, const wire::EventHead& head, wire::FeedAccount account,
                 Kind& kind, stream::Emitter& out);
  void ReportId(const wire::EventHead& head, const wire::FeedAccount& account, const MemberRow* before,
                stream::Emitter& out);
  void PassWatermarks(stream::Emitter& out);

  MembersOptions options_;
  Kind hosts_;
  Kind users_;
  Kind teams_;
  stream::Watermarks watermarks_;
  std::string bytes_;  // reused
};

}  // namespace cobblestone::members
