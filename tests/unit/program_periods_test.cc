// Periods end between runs of a kind and around ticks, and nowhere else.
#include "services/pipeline/periods.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/wire/events/event_codec.h"

namespace cobblestone {

using pipeline::PeriodEndsBefore;
using pipeline::PeriodKind;
using pipeline::PeriodKindOf;

namespace {

// Returns the events of `story`, one letter each, with '|' where a period ends. In a story '!' requests the end of
// a period before the next event, and '.' is the end of the source.
std::string WithEnds(const std::string& story) {
  std::string result;
  PeriodKind last = PeriodKind::kNothing;
  bool requested = false;
  for (const char c : story) {
    if (c == '!') {
      requested = true;
      continue;
    }
    const auto kind = static_cast<PeriodKind>(std::string(".rchutT").find(c));
    if (PeriodEndsBefore(last, kind, requested || c == '.')) {
      result.push_back('|');
      last = PeriodKind::kNothing;
    }
    result.push_back(c);
    if (kind != PeriodKind::kNothing) last = kind;
    requested = false;
  }
  return result;
}

TEST(Periods, EndBetweenRunsOfAKindAndAroundTicks) {
  EXPECT_EQ(WithEnds("rrrr."), "rrrr|.");
  EXPECT_EQ(WithEnds("ccc."), "ccc|.") << "also for a catalogue";
  EXPECT_EQ(WithEnds("rrcccrr."), "rr|ccc|rr|.");
  EXPECT_EQ(WithEnds("rTrTTr."), "r|T|r|T|T|r|.");
  EXPECT_EQ(WithEnds("rtttr."), "r|ttt|r|.");
  EXPECT_EQ(WithEnds("huhct."), "h|u|h|c|t|.");
}

TEST(Periods, EndOnRequestAndOnceForARepeatedEnd) {
  EXPECT_EQ(WithEnds("rr!rr."), "rr|rr|.");
  EXPECT_EQ(WithEnds("u!u."), "u|u|.");
  EXPECT_EQ(WithEnds("r....r."), "r|....r|.");
}

// Otherwise the events that follow could overtake the barrier of the interrupted end.
TEST(Periods, AnInterruptedEndIsRepeatedWhateverFollows) {
  for (const auto next : {PeriodKind::kNothing, PeriodKind::kResults, PeriodKind::kTick})
    EXPECT_TRUE(PeriodEndsBefore(PeriodKind::kEnding, next, false)) << static_cast<int>(next);
}

TEST(Periods, AnEventHasTheKindOfItsTopic) {
  const auto kind = [](wire::EventBody body) {
    return PeriodKindOf(
        wire::EncodeEvent({.head = {.id = 1, .project = ProjectId(1)}, .body = std::move(body)}));
  };
  EXPECT_EQ(kind(wire::Completion{}), PeriodKind::kResults);
  EXPECT_EQ(kind(wire::Trickle{}), PeriodKind::kResults);
  EXPECT_EQ(kind(wire::MachineHost{.machine = 1}), PeriodKind::kResults) << "no result waits for this event";
  EXPECT_EQ(kind(wire::EstimatedCredit{.machine = 1}), PeriodKind::kResults);
  EXPECT_EQ(kind(wire::AppChange{}), PeriodKind::kCatalogue);
  EXPECT_EQ(kind(wire::Repricing{}), PeriodKind::kUsers);
  EXPECT_EQ(kind(wire::HostMember{.host = HostId(1)}), PeriodKind::kHosts);
  EXPECT_EQ(kind(wire::JobReversal{.host = HostId(1)}), PeriodKind::kHosts);
  EXPECT_EQ(kind(wire::JobRepricing{.host = HostId(1)}), PeriodKind::kHosts);
  EXPECT_EQ(kind(wire::OpeningTotal{.kind = wire::AccountKind::kUser, .account = 1}), PeriodKind::kUsers);
  EXPECT_EQ(kind(wire::OpeningTotal{.kind = wire::AccountKind::kTeam, .account = 1}), PeriodKind::kTeams);
  EXPECT_EQ(kind(wire::Tick{}), PeriodKind::kTick);
  EXPECT_EQ(kind(wire::Barrier{}), PeriodKind::kTick);
  EXPECT_EQ(kind(wire::Watermark{}), PeriodKind::kNothing);
  EXPECT_EQ(kind(wire::HostAsked{.host = HostId(1), .user = UserId(1)}), PeriodKind::kNothing);
  EXPECT_EQ(kind(wire::HeldResult{.host = HostId(1), .result = ResultId(2), .holder = HostId(3)}),
            PeriodKind::kNothing);
  EXPECT_EQ(PeriodKindOf(""), PeriodKind::kNothing);
  EXPECT_EQ(PeriodKindOf("no envelope"), PeriodKind::kResults);
}

}  // namespace
}  // namespace cobblestone
