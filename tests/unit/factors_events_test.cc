// A hub's answer, and the events that follow from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"
#include "services/factors/factor_events.h"
#include "services/factors/hub_answer.h"

namespace cobblestone::factors {
namespace {

using credit::Resource;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kAsOf = 1.8e9;

constexpr const char* kAnswer = R"({"data": {
  "sequence": 12, "as_of": 1800000000, "more": [1],
  "factors": [
    {"plan_class": "cuda", "resource": "nvidia", "factor": 0.25, "is_default": false,
     "contributions": [{"project": 3, "name": "Alpha", "weight": 0.4, "value": 0.25},
                       {"project": 5, "name": "Beta", "weight": 0.6, "value": 0.3}],
     "left_out": []},
    {"plan_class": "opencl_amd", "resource": "amd", "factor": 0.1, "is_default": true, "contributions": []},
    {"plan_class": "mt", "resource": "cpu", "factor": 1, "is_default": true},
    {"plan_class": "npu", "resource": "tensor", "factor": 1, "is_default": false}]}})";

HubAnswer Answer() {
  auto answer = ParseHubAnswer(kAnswer);
  EXPECT_TRUE(answer.ok()) << answer.status().message();
  if (!answer.ok()) return {};
  answer->hub = "Stats";
  return *answer;
}

ProjectFactors Project(std::uint32_t id) {
  return {.project = ProjectId(id), .time = kAsOf + 100, .classes = {{"cuda", Resource::kNvidia}}};
}

wire::PlanClassFactor FactorIn(const wire::Event& event) {
  return std::get<wire::PlanClassFactor>(event.body);
}

TEST(HubAnswer, IsReadWithoutWhatThisBuildDoesNotKnow) {
  const HubAnswer answer = Answer();
  EXPECT_EQ(answer.sequence, 12u);
  EXPECT_EQ(answer.as_of, kAsOf);
  ASSERT_EQ(answer.factors.size(), 2u) << "CPU and unknown resources have no factor";
  EXPECT_EQ(answer.factors[0].contributions[1].project, "Beta");
  EXPECT_TRUE(answer.factors[1].is_default);
}

TEST(HubAnswer, ThatIsNoneIsRejectedAsAWhole) {
  struct Case {
    const char* text;
    const char* reason;
  };
  for (const Case& one :
       {Case{"", "not a JSON object"}, Case{"<html>", "not a JSON object"}, Case{"[]", "not a JSON object"},
        Case{R"({"sequence": 1, "as_of": 1, "factors": []})", "data"},
        Case{R"({"data": {"sequence": -1, "as_of": 1, "factors": []}})", "sequence"},
        Case{R"({"data": {"sequence": 1, "as_of": "now", "factors": []}})", "as_of"},
        Case{R"({"data": {"sequence": 1, "as_of": 1, "factors": {}}})", "factors"},
        Case{R"({"data": {"sequence": 1, "as_of": 1, "factors": [{"resource": "amd"}]}})",
             "factors.plan_class"},
        Case{R"({"data": {"sequence": 1, "as_of": 1, "factors": [
                                  {"plan_class": "a", "resource": "amd", "factor": 1},
                                  {"plan_class": "a", "resource": "amd", "factor": 2}]}})",
             "two factors for plan class a"}}) {
    const auto answer = ParseHubAnswer(one.text);
    ASSERT_FALSE(answer.ok()) << one.text;
    EXPECT_THAT(answer.status().message(), HasSubstr(one.reason));
  }
}

TEST(FactorEvents, NameHubSequenceAndProjects) {
  const FactorEvents made = EventsOf(Answer(), {Project(7)});
  ASSERT_EQ(made.events.size(), 1u);
  const wire::Event& event = made.events[0];
  EXPECT_EQ(event.head.project, ProjectId(7));
  EXPECT_EQ(event.head.time, kAsOf);
  EXPECT_EQ(FactorIn(event).plan_class, "cuda");
  EXPECT_EQ(FactorIn(event).factor, 0.25);
  EXPECT_EQ(FactorIn(event).provenance,
            "hub Stats, sequence 12: 2 projects: Alpha (40.0 %, 0.25), Beta (60.0 %, 0.3)");
  EXPECT_EQ(wire::CheckEvent(event), std::nullopt);
}

TEST(FactorEvents, ApplyTheDefaultOfTheHubAsWell) {
  ProjectFactors project = Project(7);
  project.classes = {{"opencl_amd", Resource::kAmd}};
  const FactorEvents made = EventsOf(Answer(), {project});
  ASSERT_EQ(made.events.size(), 1u);
  EXPECT_EQ(FactorIn(made.events[0]).factor, 0.1);
  EXPECT_EQ(FactorIn(made.events[0]).provenance,
            "default: hub Stats, sequence 12: too few projects contribute");
}

TEST(FactorEvents, AreMadeOnlyForWhatChanges) {
  ProjectFactors same = Project(1);
  same.in_force["cuda"] = {.factor = 0.25, .time = kAsOf - 1};
  ProjectFactors newer = Project(2);  // set by the project itself after the hub's answer
  newer.in_force["cuda"] = {.factor = 0.5, .time = kAsOf + 1};
  ProjectFactors no_time = Project(3);
  no_time.time = 0;
  ProjectFactors other_resource = Project(4);
  other_resource.classes["cuda"] = Resource::kAmd;
  ProjectFactors older = Project(5);
  older.in_force["cuda"] = {.factor = 0.5, .time = kAsOf - 1};
  const FactorEvents made = EventsOf(Answer(), {same, newer, no_time, other_resource, older});
  ASSERT_EQ(made.events.size(), 1u);
  EXPECT_EQ(made.events[0].head.project, ProjectId(5));
}

// A project's events may arrive a day late: a factor must not move its event time.
TEST(FactorEvents, HaveNoTimeAfterThatOfTheirProject) {
  ProjectFactors project = Project(7);
  project.time = kAsOf - 86400;
  EXPECT_EQ(EventsOf(Answer(), {project}).events.at(0).head.time, kAsOf - 86400);
}

TEST(FactorEvents, AreExactRepeatsIfTheyAreMadeAgain) {
  const auto once = EventsOf(Answer(), {Project(7)}).events;
  const auto again = EventsOf(Answer(), {Project(7)}).events;
  EXPECT_EQ(wire::EncodeEvent(once[0]), wire::EncodeEvent(again[0]));
  HubAnswer next = Answer();
  next.factors[0].factor = 0.26;
  EXPECT_NE(EventsOf(next, {Project(7)}).events.at(0).head.id, once[0].head.id);
}

TEST(FactorEvents, LeaveOutFactorsThatCannotBeRight) {
  for (const double factor : {0.0, -0.1, 0.99e-4, 100.1, HUGE_VAL, std::nan("")}) {
    HubAnswer answer = Answer();
    answer.factors[0].factor = factor;
    const FactorEvents made = EventsOf(answer, {Project(1), Project(2)});
    EXPECT_TRUE(made.events.empty()) << factor;
    EXPECT_THAT(made.rejected, ElementsAre(HasSubstr("plan class cuda"))) << factor;
  }
  for (const double factor : {1e-4, 100.0}) {
    HubAnswer answer = Answer();
    answer.factors[0].factor = factor;
    EXPECT_EQ(EventsOf(answer, {Project(1)}).events.size(), 1u) << factor;
  }
}

}  // namespace
}  // namespace cobblestone::factors
