// TEAMS, by team: applies postings to the totals of teams, and reports on topic `passed` each watermark that
// this partition has passed.
//
// In: control (watermarks only), teams (members, openings, facts), postings; one partition of each. Out: grants
// (the opening balance of a team, for the ledger), totals, passed, refused.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/credit/accounts/account.h"
#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "common/stream/watermarks.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_stamp.h"
#include "common/wire/ledger/account_codec.h"
#include "services/stage/day_rows.h"
#include "services/teams/profiles.h"

namespace cobblestone::teams {

struct TeamState {
  wire::EventStamp member;   // the newest member event
  wire::EventStamp opening;  // the event that set the account's opening balance
  bool deleted = false;
  std::string name;
  credit::Account account;
  wire::EventStamp named;  // the newest member event that set the name or deleted the team
  bool listed = false;     // the team is in `changed_`; not state

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.member, s.opening, s.deleted, s.name, s.account, s.named);
  }
};

// `order: lockstep`: a posting kept until the next barrier that ends a period (Watermark::ends_period). The postings
// are then applied in the order (time, line, result). Key: a number in order of arrival, which decides ties.
struct BufferedPosting {
  double time = 0;
  std::uint64_t line = 0;
  std::uint64_t result = 0;
  std::string bytes;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.time, s.line, s.result, s.bytes);
  }
};

// `order: lockstep`: sum of the counts (Passed::moved) that partitions of ACCOUNTS have reported since the last
// barrier: records sent to other partitions of the same stage, by ACCOUNTS and the stages upstream.
struct MovedByAccounts {
  std::uint64_t records = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.records);
  }
};

// Tables of a slot, as stored (numbers are unique over all stages).
inline constexpr stream::TableSpec<TeamState> kTeamsTable{.id = 48, .version = 1};
inline constexpr stream::TableSpec<BufferedPosting> kBufferedTable{.id = 50, .version = 1};
inline constexpr stream::TableSpec<MovedByAccounts> kMovedTable{.id = 51, .version = 1};
inline constexpr stream::TableSpec<credit::DayBlock<credit::DaySum>> kDaysTable{.id = 54, .version = 1};

struct TeamsOptions {
  std::uint32_t partition = 0;
  std::uint32_t partitions = 1;
  double future_limit = 3600;  // s: most that an event's time may be after the time of its append
  bool lockstep = false;       // `order: lockstep`
};

class TeamsStage final : public stream::Stage {
 public:
  enum Input : std::size_t { kControl, kTeams, kPostings };
  static std::vector<stream::TopicPartition> Inputs(std::uint32_t partition);

  TeamsStage(const TeamsOptions& options, stream::TableHost& tables);

  void Process(std::size_t input, const stream::RecordView& record, stream::Emitter& out) override;
  void Finish(stream::Emitter& out) override;
  Status Opened() override;
  [[nodiscard]] std::vector<stream::TableBase*> tables() override;

  stream::Table<TeamState>& teams() { return teams_; }
  // Returns a row of teams() with its whole history. Call between commits.
  TeamState Whole(const stream::Key& key, TeamState team);
  stream::Table<TeamProfileRow>& profiles() { return profiles_; }
  stream::Table<stage::FactsRow>& facts() { return facts_; }
  stream::Table<BufferedPosting>& buffered() { return buffered_; }
  stream::Watermarks& watermarks() { return watermarks_; }

 private:
  void OnControl(const stream::RecordView& record, stream::Emitter& out);
  void OnTeam(const stream::RecordView& record, stream::Emitter& out);
  void OnMember(const stream::RecordView& record, const wire::EventHead& head, const wire::TeamMember& member,
                stream::Emitter& out);
  void OnOpening(const stream::RecordView& record, const wire::EventHead& head,
                 const wire::OpeningTotal& opening, stream::Emitter& out);
  void OnPosting(const stream::RecordView& record, stream::Emitter& out);
  void OnPassed(const stream::RecordView& record, stream::Emitter& out);
  void PassWatermarks(stream::Emitter& out);
  void ApplyAllBuffered(stream::Emitter& out);
  void List(const stream::Key& key, TeamState& team);
  void Apply(const wire::Posting& posting);

  TeamsOptions options_;
  stream::Table<TeamState> teams_;
  stage::DayTable<credit::DaySum> days_;
  stream::Table<TeamProfileRow> profiles_;
  stream::Table<stage::FactsRow> facts_;
  stream::Table<BufferedPosting> buffered_;
  stream::Table<MovedByAccounts> moved_;  // one row
  stream::Watermarks watermarks_;
  std::uint64_t buffered_count_ = 0;  // derived: rows of `buffered_`, which are all erased together
  // Teams with totals that this commit has changed, each once, in the order of their first change.
  std::vector<std::pair<stream::Key, TeamState*>> changed_;
  std::string bytes_;
};

}  // namespace cobblestone::teams
