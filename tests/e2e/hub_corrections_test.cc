// A project's operator reverses credit, and the history of a person at a federation hub says on which day and of which day:
// from the project's ledger over the sender's edition to the hub's answer.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "services/corrections/correction_plan.h"
#include "services/export/state/state_source.h"
#include "services/hub/collector/edition_maker.h"
#include "services/hub/collector/record_file.h"
#include "services/hub/push/push_edition.h"
#include "tests/e2e/hub_world.h"
#include "tests/support/engine_story.h"

namespace cobblestone::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUser = 3;

// Project 1, with one user.
class CorrectedProject final : public EngineStory {
 public:
  CorrectedProject() {
    Open();
    Send(kStart, wire::AppChange{.app = AppId(1), .policy = "assigned", .delay_bound = kDay});
    Send(kStart, wire::UserMember{.user = UserId(kUser),
                                  .cross_project_id = std::string(32, 'a'),
                                  .create_time = 1.2e9,
                                  .name = "Ann"});
    Send(kStart, wire::HostMember{.host = HostId(1), .user = UserId(kUser), .cpus = 1});
  }
  ~CorrectedProject() override { EXPECT_TRUE(engine_->Stop().ok()); }
  void TestBody() override {}

  void Grant(double day, std::uint64_t result, double credit) {
    Granted(kStart + day * kDay, result, 1, credit);
    Send(kStart + day * kDay, wire::Tick{.time = kStart + day * kDay});
  }
  // As `cobblestone reverse` and `reinstate` do.
  void Correct(double day, std::int64_t result, bool reinstates = false) {
    const double time = kStart + day * kDay;
    const auto plan = engine_->Corrections({.project = kProject,
                                            .target = corrections::TargetKind::kResult,
                                            .id = result,
                                            .reinstates = reinstates,
                                            .reason = "forged",
                                            .time = time},
                                           {});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    ASSERT_EQ(plan->at("corrections").size(), 1u) << plan->dump();
    const std::string hex = plan->at("corrections")[0]["event"];
    std::string bytes;
    for (std::size_t n = 0; n < hex.size(); n += 2)
      bytes.push_back(static_cast<char>(std::stoi(hex.substr(n, 2), nullptr, 16)));
    auto event = wire::ParseEvent(bytes);
    ASSERT_TRUE(event.ok()) << event.status().message();
    Send(time, std::move(event->body));
    Send(time, wire::Tick{.time = time});
  }
  // The records of an edition with all accounts, as project 4 of the hub.
  std::vector<std::string> Edition(std::uint64_t edition, double day) {
    const std::string work = temp_ / ("edition-" + std::to_string(edition));
    fs::create_directories(work);
    std::vector<std::string> records;
    auto source = exports::StateSource::Open(engine_->live_state(), {.project = kProject});
    if (!source.ok()) return records;
    const auto made = hub::MakePushedEdition(**source, {.project = ProjectId(4),
                                                        .edition = edition,
                                                        .time = kStart + day * kDay,
                                                        .whole = true,
                                                        .indexes = work,
                                                        .work = work});
    EXPECT_TRUE(made.ok()) << made.status().message();
    auto reader = hub::RecordFileReader::Open(work + "/" + hub::kEventsName);
    if (!reader.ok()) return records;
    std::string_view record;
    for (auto found = reader->Next(&record); found.ok() && *found; found = reader->Next(&record))
      records.emplace_back(record);
    return records;
  }
};

class HubCorrections : public HubWorld {
 protected:
  void Take(const std::vector<std::string>& edition) {
    ASSERT_FALSE(edition.empty());
    for (const std::string& record : edition) {
      const auto routing = wire::PeekRouting(record);
      events_.push_back({record, routing && routing->key == wire::KeyKind::kBroadcast});
    }
  }
  // "CAME ABOUT CREDIT" of each correction of the person, in days after kStart.
  std::string Corrections() {
    SendAndIndex();
    const auto person = questions_->PersonOf(ProjectId(4), UserId(kUser));
    if (!person.ok()) return person.status().message();
    const auto day = [](const json& number) {
      return number.is_null()
                 ? std::string("?")
                 : std::to_string(number.get<std::int64_t>() - static_cast<std::int64_t>(kStart / kDay));
    };
    std::string text;
    for (const json& one : person->at("corrections"))
      text +=
          day(one["day_came"]) + " " + day(one["day_about"]) + " " + one["credit"].get<std::string>() + "; ";
    return text;
  }
};

// The second reversal comes on a day on which the user earns more than it costs: the total does not fall.
TEST_F(HubCorrections, AreMarkedOnTheDayThatTheyConcernAndTheDayTheyCame) {
  CorrectedProject project;
  Add(4, 0, wire::FeedProject{.name = "Fold", .mode = wire::FeedMode::kDirect});
  project.Grant(0, 1, 5);
  project.Grant(1, 2, 7);
  Take(project.Edition(1, 1));
  EXPECT_EQ(Corrections(), "");
  project.Correct(10, 1);
  Take(project.Edition(2, 10));
  EXPECT_EQ(Corrections(), "10 0 -5.000000; ");
  project.Correct(12, 2);
  project.Grant(12, 3, 20);
  Take(project.Edition(3, 12));
  EXPECT_EQ(Corrections(), "10 0 -5.000000; 12 1 -7.000000; ");
  project.Correct(14, 1, true);
  Take(project.Edition(4, 14));
  EXPECT_EQ(Corrections(), "10 0 -5.000000; 12 1 -7.000000; 14 10 5.000000; ");
  EXPECT_EQ(PersonTotal(4, kUser), "25.000000");
}

}  // namespace
}  // namespace cobblestone::testing
