// TEAMS, by team: applies postings to the totals of teams.
//
// In: teams (members, openings), postings of one partition. Out: grants (the opening balance of a team, for the ledger),
// totals, refused.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/credit/account.h"
#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "common/wire/account_codec.h"
#include "common/wire/topics.h"
#include "common/wire/word.h"

namespace cobblestone::teams {

struct TeamState {
  wire::Word member;   // the member event in force
  wire::Word opening;  // of the account's balance
  bool deleted = false;
  std::string name;
  credit::Account account;
  bool listed = false;  // among the changed of this commit; not state

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.member, s.opening, s.deleted, s.name, s.account);
  }
};

struct TeamsOptions {
  std::uint32_t partition = 0;
  std::uint32_t partitions = 1;
  double future_limit = 3600;  // s: an event may be so much later than the time at which it was appended
  bool sorted = false;  // lockstep: postings wait for the barrier and are applied by (time, line, result)
};

class TeamsStage final : public stream::Stage {
 public:
  enum Input : std::size_t { kTeams, kPostings };
  static std::vector<stream::TopicPartition> Inputs(std::uint32_t partition);

  TeamsStage(const TeamsOptions& options, stream::TableHost& tables);

  void Process(std::size_t input, const stream::RecordView& record, stream::Emitter& out) override;
  void Barrier(stream::Emitter& out) override;
  void Finish(stream::Emitter& out) override;
  [[nodiscard]] std::vector<stream::TableBase*> tables() override;

  stream::Table<TeamState>& teams() { return teams_; }

 private:
  void OnTeam(const stream::RecordView& record, stream::Emitter& out);
  void List(const stream::Key& key, TeamState& team);
  void Apply(const wire::Posting& posting);
  TeamsOptions options_;
  stream::Table<TeamState> teams_;
  std::vector<wire::Posting> sorted_;  // lockstep, empty after each barrier
  // Whose totals this commit has changed, each once, in the order of their first change.
  std::vector<std::pair<stream::Key, TeamState*>> changed_;
  std::string bytes_;
};

}  // namespace cobblestone::teams
