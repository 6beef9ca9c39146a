// What to do about a held or failed file: each reason has a text, and the operators' document has each text.
#include "services/hub/feeds/next_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "common/wire/events/feed_reason.h"

namespace cobblestone::hub {
namespace {

// All reasons that have a name, with their step; 256 numbers are all that there can be.
std::map<std::string, std::string> AllSteps() {
  std::map<std::string, std::string> steps;
  const auto add = [&](std::string_view name, std::string_view step) {
    EXPECT_FALSE(step.empty()) << name;
    EXPECT_TRUE(step.ends_with('.')) << step;
    EXPECT_LT(step.size(), 200u) << "one or two short sentences";
    steps.emplace(name, step);
  };
  for (int number = 1; number < 256; ++number) {
    // A number without a name has that of the first reason.
    const auto hold = static_cast<HoldReason>(number);
    if (hold == HoldReason::kNoTables || HoldReasonName(hold) != HoldReasonName(HoldReason::kNoTables))
      add("hold " + std::string(HoldReasonName(hold)), NextStep(hold));
    const auto problem = static_cast<FileProblem>(number);
    if (FileProblemName(problem) != "none")
      add("file " + std::string(FileProblemName(problem)), NextStep(problem));
    const auto failure = static_cast<FetchFailure>(number);
    if (FetchFailureName(failure) != "none")
      add("fetch " + std::string(FetchFailureName(failure)), NextStep(failure));
  }
  return steps;
}

TEST(NextStep, EveryReasonHasOne) {
  // 14 reasons to hold a file, 25 of the reader, 16 of a fetch.
  EXPECT_EQ(AllSteps().size(), 14u + 25u + 16u);
  EXPECT_EQ(NextStep(FileProblem::kNone), "");
  EXPECT_EQ(NextStep(FetchFailure::kNone), "");
}

TEST(NextStep, IsInTheDocumentOfOperators) {
  std::ifstream file(COBBLESTONE_SOURCE_DIR "/docs/operations/federation-hub.md");
  std::stringstream text;
  text << file.rdbuf();
  std::map<std::string, std::string> steps = AllSteps();
  steps.emplace("moved", NextStep(HealthState::kMoved));
  for (const auto& [name, step] : steps)
    EXPECT_NE(text.str().find("| " + step + " |\n"), std::string::npos) << name << ": " << step;
}

TEST(NextStep, SaysHowTheHoldEnds) {
  EXPECT_NE(HowItEnds(HeldEnd::kByOperator, ProjectId(7)).find("`cobblestone hub release 7 --config FILE`"),
            std::string::npos);
  EXPECT_NE(HowItEnds(HeldEnd::kByItself, ProjectId(7)).find("`cobblestone hub release 7 --config FILE`"),
            std::string::npos);
  EXPECT_EQ(HowItEnds(HeldEnd::kByProject, ProjectId(7)).find("release"), std::string::npos);
}

TEST(NextSteps, AreSaidOnce) {
  NextSteps steps;
  steps.Add("Look.");
  steps.Add("");
  steps.Add("Ask.");
  steps.Add("Look.");
  EXPECT_EQ(steps.Text(), "Look. Ask.");
}

// What a project writes into a file may look like the words between a reason and its step.
TEST(FeedReason, IsSplitAtTheLastPlace) {
  const std::string text = wire::ReasonWithStep("name: a. What to do: b", "Ask.");
  EXPECT_EQ(wire::SplitReason(text).reason, "name: a. What to do: b");
  EXPECT_EQ(wire::SplitReason(text).step, "Ask.");
  // What a project says does not become a step, where there is none.
  EXPECT_EQ(wire::SplitReason(wire::ReasonWithStep("name: a. What to do: b. What to do: c", "")).step, "");
  EXPECT_EQ(wire::ReasonWithStep("name: a. What to do: b", ""), "name: a; What to do: b");
  EXPECT_EQ(wire::SplitReason("no step").reason, "no step");
  EXPECT_EQ(wire::SplitReason("no step").step, "");
}

}  // namespace
}  // namespace cobblestone::hub
