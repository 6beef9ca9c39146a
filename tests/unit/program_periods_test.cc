// Where periods end: between runs, around ticks, and nowhere else.
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

// What is said, one letter each, with a '|' where a period ends before it; '!' asks for that before the next; '.' is the end.
std::string WithEnds(const std::string& story) {
  std::string told;
  PeriodKind last = PeriodKind::kNothing;
  bool asked = false;
  for (const char c : story) {
    if (c == '!') {
      asked = true;
      continue;
    }
    const auto said = static_cast<PeriodKind>(std::string(".rchutT").find(c));
    if (PeriodEndsBefore(last, said, asked || c == '.')) {
      told.push_back('|');
      last = PeriodKind::kNothing;
    }
    told.push_back(c);
    if (said != PeriodKind::kNothing) last = said;
    asked = false;
  }
  return told;
}

TEST(Periods, TheyEndBetweenRunsOfAKindAndAroundTicks) {
  EXPECT_EQ(WithEnds("rrrr."), "rrrr|.");
  EXPECT_EQ(WithEnds("ccc."), "ccc|.") << "of a catalogue, too";
  EXPECT_EQ(WithEnds("rrcccrr."), "rr|ccc|rr|.");
  EXPECT_EQ(WithEnds("rTrTTr."), "r|T|r|T|T|r|.");
  EXPECT_EQ(WithEnds("rtttr."), "r|ttt|r|.");
  EXPECT_EQ(WithEnds("huhct."), "h|u|h|c|t|.");
}

TEST(Periods, WhatASourceAsksForIsThereAndTheEndIsOneHoweverOftenItComes) {
  EXPECT_EQ(WithEnds("rr!rr."), "rr|rr|.");
  EXPECT_EQ(WithEnds("u!u."), "u|u|.");
  EXPECT_EQ(WithEnds("r....r."), "r|....r|.");
}

TEST(Periods, AnEventIsOfTheKindOfItsTopic) {
  const auto said = [](wire::EventBody body) {
    return PeriodKindOf(
        wire::EncodeEvent({.head = {.id = 1, .project = ProjectId(1)}, .body = std::move(body)}));
  };
  EXPECT_EQ(said(wire::Completion{}), PeriodKind::kResults);
  EXPECT_EQ(said(wire::Trickle{}), PeriodKind::kResults);
  EXPECT_EQ(said(wire::MachineHost{.machine = 1}), PeriodKind::kResults) << "no result waits for its word";
  EXPECT_EQ(said(wire::EstimatedCredit{.machine = 1}), PeriodKind::kResults);
  EXPECT_EQ(said(wire::AppChange{}), PeriodKind::kCatalogue);
  EXPECT_EQ(said(wire::Repricing{}), PeriodKind::kUsers);
  EXPECT_EQ(said(wire::HostMember{.host = HostId(1)}), PeriodKind::kHosts);
  EXPECT_EQ(said(wire::JobReversal{.host = HostId(1)}), PeriodKind::kHosts);
  EXPECT_EQ(said(wire::JobRepricing{.host = HostId(1)}), PeriodKind::kHosts);
  EXPECT_EQ(said(wire::OpeningTotal{.kind = wire::AccountKind::kUser, .account = 1}), PeriodKind::kUsers);
  EXPECT_EQ(said(wire::OpeningTotal{.kind = wire::AccountKind::kTeam, .account = 1}), PeriodKind::kTeams);
  EXPECT_EQ(said(wire::Tick{}), PeriodKind::kTick);
  EXPECT_EQ(said(wire::Barrier{}), PeriodKind::kTick);
  EXPECT_EQ(said(wire::Watermark{}), PeriodKind::kNothing);
  EXPECT_EQ(said(wire::HostAsked{.host = HostId(1), .user = UserId(1)}), PeriodKind::kNothing);
  EXPECT_EQ(said(wire::HeldResult{.host = HostId(1), .result = ResultId(2), .holder = HostId(3)}),
            PeriodKind::kNothing);
  EXPECT_EQ(PeriodKindOf(""), PeriodKind::kNothing);
  EXPECT_EQ(PeriodKindOf("no envelope"), PeriodKind::kResults);
}

}  // namespace
}  // namespace cobblestone
