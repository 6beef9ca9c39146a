// A read-only view of a deployment on a real broker sees committed state. A view that follows checkpoints and
// a view that executes the owners' commits give the same answers as the deployment moved to one machine, for
// each account and award and in both layouts of slots. Views follow while owners change.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/settings/run_settings.h"
#include "services/embedded/engine.h"
#include "services/kafka/kafka_view.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {

using embedded::Engine;
using kafka::KafkaView;

namespace {

using nlohmann::json;
using std::chrono::seconds;
using wire::AccountKind;

constexpr seconds kPatience{180};
constexpr ProjectId kProject{1};
constexpr AccountKind kKinds[] = {AccountKind::kUser, AccountKind::kHost, AccountKind::kTeam};

// Removes the fields that depend on where and when the question was asked.
json Timeless(json answer) {
  if (answer.is_object()) {
    for (const char* name : {"rac_now", "ledger"}) answer.erase(name);
    for (auto& [key, value] : answer.items()) value = Timeless(value);
  } else if (answer.is_array()) {
    for (json& value : answer) value = Timeless(value);
  }
  return answer;
}

json AnswerOf(const Result<json>& answer) {
  EXPECT_TRUE(answer.ok()) << answer.status().message();
  return answer.ok() ? Timeless(*answer) : json();
}

// Recent averages are decayed to the time of each answer; only their stored values are compared.
void EraseMoments(json* answer) {
  if (answer->is_object())
    for (const char* name : {"rac_now", "rac_now_time", "expavg_now", "expavg_now_time"}) answer->erase(name);
  if (answer->is_structured())
    for (json& part : *answer) EraseMoments(&part);
}

json Everything(view::Questions& questions) {
  json all;
  for (const AccountKind kind : kKinds) {
    json& of_kind = all[std::to_string(static_cast<int>(kind))];
    const json top =
        AnswerOf(questions.Top(kProject, kind, view::RankBy::kTotal, {.offset = 0, .limit = 100000}));
    for (const json& row : top["rows"]) {
      const auto id = row["id"].get<std::uint64_t>();
      json& one = of_kind[std::to_string(id)];
      one["account"] = AnswerOf(questions.Account(kProject, kind, id));
      one["grants"] = AnswerOf(questions.Grants(kProject, kind, id, 5));
      for (const json& grant : one["grants"])
        if (const auto result = grant["result"].get<std::uint64_t>(); result != 0)
          all["results"][std::to_string(result)] = AnswerOf(questions.Explain(kProject, ResultId(result)));
      if (kind == AccountKind::kHost)
        one["versions"] = AnswerOf(questions.HostVersions(kProject, HostId(id), {}, AppId(0)));
    }
  }
  all["scales"] = AnswerOf(questions.Scales(kProject));
  all["watch"] = AnswerOf(questions.Watch(100));
  all["epochs"] = AnswerOf(questions.ScalesHistory(kProject, {.limit = 1000}));
  json refused = AnswerOf(questions.RefusedList(0, 100000))["refused"];
  for (json& one : refused) {  // numbers, and the order of equal times, depend on the backend
    one.erase("number");
    one.erase("offset");
    one.erase("append_time");
  }
  std::sort(refused.begin(), refused.end(), [](const json& a, const json& b) { return a.dump() < b.dump(); });
  all["refused"] = refused;
  EraseMoments(&all);
  return all;
}

class Viewer {
 public:
  Viewer(const KafkaWorld& world, const std::string& name, bool execute) {
    auto settings = settings::LoadRunSettings(world.ConfigOf(name));
    if (!settings.ok()) throw std::runtime_error(settings.status().message());
    auto view = KafkaView::Open(*settings, execute, [name](const std::string& what) {
      std::printf("%s: %s\n", name.c_str(), what.c_str());
    });
    if (!view.ok()) throw std::runtime_error(view.status().message());
    view_ = std::move(*view);
  }
  [[nodiscard]] view::Questions& questions() { return view_->questions(); }

  // Waits until the view has caught up with the deployment, which is at rest.
  bool Await(const KafkaWorld& world, seconds at_most) {
    const auto deadline = std::chrono::steady_clock::now() + at_most;
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
      EXPECT_TRUE(view_->failure().ok()) << view_->failure().message();
      if (CaughtUp(world.Tasks())) return true;
      if (std::chrono::steady_clock::now() > deadline) return false;
    }
  }

 private:
  bool CaughtUp(const json& tasks) {
    std::size_t at = 0;
    for (const view::Stage stage : {view::Stage::kClaims, view::Stage::kGrants, view::Stage::kAccounts,
                                    view::Stage::kTeams, view::Stage::kCoordinator}) {
      const std::uint32_t partitions = stage == view::Stage::kCoordinator ? 1 : view_->state().partitions();
      for (std::uint32_t k = 0; k < partitions; ++k) {
        const auto rows = view_->state().Of(stage, k);
        if (!rows.ok()) return false;
        const auto meta = (*rows)->Meta();
        if (!meta.ok()) return false;
        if (meta->sequence != CommitsOf(tasks, stage, k)) return false;
        ++at;
      }
    }
    return at > 0;
  }
  [[nodiscard]] std::uint64_t CommitsOf(const json& tasks, view::Stage stage, std::uint32_t k) const {
    const std::string name(settings::kStageNames[static_cast<std::size_t>(stage)]);
    const bool coordinator = stage == view::Stage::kCoordinator;
    for (const json& task : tasks["tasks"]) {
      const std::string role = task.value("role", "");
      if (role == name && task.value("slot", ~0u) == k) return task.value("commits", std::uint64_t{0});
      if (role == name || role.find(',') == std::string::npos) continue;
      if (task.value("slot", ~0u) == k && !coordinator) return task.value("commits", std::uint64_t{0});
    }
    for (const json& task : tasks["tasks"])
      if (coordinator && task.value("role", "") == name) return task.value("commits", std::uint64_t{0});
    return ~0ull;
  }

  std::unique_ptr<KafkaView> view_;
};

void CompareViews(const KafkaWorldOptions& options, const std::vector<std::string>& workers, bool migrates) {
  const auto broker = TestBroker::Shared();
  const std::vector<Event> events = Traffic(TrafficOptions(7, 600));
  KafkaWorld world(*broker, events, options);
  std::vector<std::unique_ptr<Background>> crew;
  for (const std::string& name : workers) crew.push_back(world.Worker(name));
  // This view is open from the start, before the first commit.
  Viewer early(world, "early", false);
  auto ingest = world.IngestInBackground();
  EXPECT_LE(ingest->Wait(), 1) << ingest->err();
  ASSERT_TRUE(world.AwaitRest(kPatience)) << world.Tasks().dump(1);
  Viewer executing(world, "executing", true);
  ASSERT_TRUE(early.Await(world, kPatience)) << world.Tasks().dump(1);
  ASSERT_TRUE(executing.Await(world, kPatience)) << world.Tasks().dump(1);
  const json seen = Everything(early.questions());
  const json executed = Everything(executing.questions());
  ASSERT_GT(seen.value("results", json::object()).size(), 50u) << seen.dump(1).substr(0, 3000);
  for (const auto& process : crew) {
    process->Signal(SIGTERM);
    EXPECT_EQ(process->Wait(), 0) << process->err();
  }
  EXPECT_EQ(json::diff(seen, executed), json::array());
  if (!migrates) return;
  world.WithMigrated([&](Engine& engine) {
    const auto questions = engine.QuestionsForMany();
    ASSERT_TRUE(questions.ok()) << questions.status().message();
    const json truth = Everything(**questions);
    EXPECT_EQ(json::diff(truth, seen), json::array());
  });
}

TEST(KafkaView, AnswersAsTheSlotsDo) { CompareViews({}, {"a", "b"}, true); }

TEST(KafkaView, AnswersAsSlotsByStageDo) { CompareViews({.kafka = "  slots: by_stage\n"}, {"a"}, false); }

TEST(KafkaView, FollowsWhileOwnersDieAndResumes) {
  const auto broker = TestBroker::Shared();
  KafkaWorld world(*broker, Traffic(TrafficOptions(8, 400)));
  auto first = world.Worker("a");
  {
    Viewer viewer(world, "observer", false);
    auto ingest = world.IngestInBackground();
    EXPECT_LE(ingest->Wait(), 1) << ingest->err();
    ASSERT_TRUE(world.AwaitRest(kPatience));
    first->Signal(SIGKILL);
    EXPECT_EQ(first->Wait(), 128 + SIGKILL);
    auto second = world.Worker("b");
    ASSERT_TRUE(world.AwaitRest(kPatience));
    ASSERT_TRUE(viewer.Await(world, kPatience)) << world.Tasks().dump(1);
    second->Signal(SIGTERM);
    EXPECT_EQ(second->Wait(), 0) << second->err();
  }
  Viewer again(world, "observer", false);
  ASSERT_TRUE(again.Await(world, kPatience)) << world.Tasks().dump(1);
  const json seen = Everything(again.questions());
  world.WithMigrated([&](Engine& engine) {
    const auto questions = engine.QuestionsForMany();
    ASSERT_TRUE(questions.ok()) << questions.status().message();
    EXPECT_EQ(json::diff(Everything(**questions), seen), json::array());
  });
}

}  // namespace
}  // namespace cobblestone::testing
