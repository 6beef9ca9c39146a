// What a stock project's server_status.php and get_project_config.php say, and what follows for the hub's page.
#include "services/hub/feeds/project_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cobblestone::hub {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string StatusText(const std::string& ready, const std::string& waiting, const std::string& validator,
                       const std::string& scheduler = "running", const std::string& backlog = "0.1") {
  const auto daemon = [](const std::string& command, const std::string& state) {
    return "  <daemon>\n        <host>www</host>\n        <command>" + command +
           "</command>\n        <status>" + state + "</status>\n    </daemon>\n";
  };
  return "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n<server_status>\n<daemon_status>\n" +
         daemon("Scheduler", scheduler) + daemon("sample_bitwise_validator (sim)", validator) +
         daemon("old_validator", "disabled") + "</daemon_status>\n<database_file_states>\n" +
         "   <results_ready_to_send>" + ready + "</results_ready_to_send>\n" +
         "   <results_in_progress>1200</results_in_progress>\n" + "   <workunits_waiting_for_validation>" +
         waiting + "</workunits_waiting_for_validation>\n   <transitioner_backlog_hours>" + backlog +
         "</transitioner_backlog_hours>\n   <current_floating_point_speed>1.5E+6</current_floating_point_speed>\n" +
         "<tasks_by_app>\n<app>\n   <id>1</id>\n   <name>sim</name>\n   <unsent>7</unsent>\n" +
         "   <in_progress>1200</in_progress>\n   <users>55</users>\n</app>\n</tasks_by_app>\n" +
         "</database_file_states>\n</server_status>\n";
}
ServerStatus Status(const std::string& text) {
  const auto parsed = ParseServerStatus(text, "server_status.php");
  EXPECT_TRUE(std::holds_alternative<ServerStatus>(parsed));
  return std::get<ServerStatus>(parsed);
}
ProjectConfig Config(const std::string& elements) {
  const auto parsed =
      ParseProjectConfig("<?xml version=\"1.0\" ?>\n<project_config>\n" + elements + "\n</project_config>\n",
                         "get_project_config.php");
  EXPECT_TRUE(std::holds_alternative<ProjectConfig>(parsed));
  return std::get<ProjectConfig>(parsed);
}

// A healthy project, with changes for one test.
struct Evidence : HealthEvidence {
  Evidence() {
    master_url = "https://example.org/sim/";
    status = Status(StatusText("500", "20", "running"));
    config = Config(
        "<name>Sim</name>\n<master_url>http://www.Example.org/sim</master_url>\n"
        "<web_stopped>0</web_stopped>\n<sched_stopped>0</sched_stopped>");
  }
  [[nodiscard]] Health Judge() const { return HealthOf(*this, {}); }
};

TEST(ServerStatus, IsReadWithItsDaemonsAndApps) {
  const ServerStatus status = Status(StatusText("500", "20", "not running"));
  ASSERT_EQ(status.daemons.size(), 3u);
  EXPECT_EQ(status.daemons[1].command, "sample_bitwise_validator (sim)");
  EXPECT_EQ(status.daemons[1].state, DaemonState::kNotRunning);
  EXPECT_EQ(status.daemons[2].state, DaemonState::kDisabled);
  EXPECT_EQ(status.ready_to_send, 500);
  EXPECT_EQ(status.gigaflops, 1.5e6);
  EXPECT_EQ(status.users_with_credit, std::nullopt);
  ASSERT_EQ(status.apps.size(), 1u);
  EXPECT_EQ(status.apps[0].name, "sim");
  EXPECT_EQ(status.apps[0].unsent, 7);
  EXPECT_EQ(status.apps[0].users, 55);
}

TEST(ServerStatus, IsRefusedAsAPageOrCut) {
  const auto problem = [](const std::string& text) {
    return std::get<FileRefusal>(ParseServerStatus(text, "server_status.php")).problem;
  };
  EXPECT_EQ(problem("<html>Project is down</html>"), FileProblem::kHtml);
  EXPECT_EQ(problem(StatusText("1", "2", "running").substr(0, 500)), FileProblem::kTruncated);
  EXPECT_EQ(problem("<server_status><a></server_status>"), FileProblem::kUnclosedElement);
}

TEST(ProjectConfig, IsReadAlsoWhenItDemandsANewerClient) {
  const ProjectConfig config = Config(
      "<name>A &amp; B</name><web_rpc_url_base>https://rpc.example.org/</web_rpc_url_base>"
      "<account_creation_disabled/><error_num>-183</error_num><web_stopped>1</web_stopped>");
  EXPECT_EQ(config.name, "A & B");
  EXPECT_EQ(config.web_rpc_url_base, "https://rpc.example.org/");
  EXPECT_TRUE(config.account_creation_disabled);
  EXPECT_TRUE(config.web_stopped);
  EXPECT_FALSE(config.sched_stopped);
  EXPECT_EQ(config.error_num, -183);
  const auto headless = ParseProjectConfig(
      "<?xml version=\"1.0\" ?>\n<error_msg>too old</error_msg>\n"
      "<error_num>-190</error_num>\n</project_config>\n",
      "get_project_config.php");
  EXPECT_EQ(std::get<ProjectConfig>(headless).error_num, -190);
}

TEST(ProjectHealth, IsFineWithWorkAndARunningValidator) {
  EXPECT_EQ(Evidence().Judge().state, HealthState::kFine);
  EXPECT_THAT(Evidence().Judge().reasons, IsEmpty());
}

TEST(ProjectHealth, TellsNoWorkAndAStuckValidatorApart) {
  Evidence no_work;
  no_work.status = Status(StatusText("0", "20", "running"));
  EXPECT_EQ(no_work.Judge().state, HealthState::kNoWork);
  EXPECT_THAT(no_work.Judge().reasons, ElementsAre("no task is ready to send; 1200 are in progress"));
  Evidence stuck;
  stuck.status = Status(StatusText("500", "20", "not running"));
  EXPECT_EQ(stuck.Judge().state, HealthState::kValidatorStuck);
  EXPECT_THAT(stuck.Judge().reasons[0],
              HasSubstr("sample_bitwise_validator (sim) does not run, and 20 workunits"));
  // It has nothing to do.
  stuck.status = Status(StatusText("500", "0", "not running"));
  EXPECT_EQ(stuck.Judge().state, HealthState::kFine);
  // Both: validation comes first, because no work would be no reason for missing credit.
  stuck.status = Status(StatusText("0", "20", "not running"));
  EXPECT_EQ(stuck.Judge().state, HealthState::kValidatorStuck);
  EXPECT_EQ(stuck.Judge().reasons.size(), 2u);
}

TEST(ProjectHealth, SeesAValidatorThatRunsAndDoesNothing) {
  Evidence evidence;
  evidence.status = Status(StatusText("500", "5000", "running"));
  EXPECT_EQ(evidence.Judge().state, HealthState::kFine);
  evidence.earlier = Status(StatusText("500", "4000", "running"));
  evidence.earlier_by = 6 * 3600;
  EXPECT_EQ(evidence.Judge().state, HealthState::kValidatorStuck);
  EXPECT_THAT(evidence.Judge().reasons,
              ElementsAre("5000 workunits wait for validation, after 4000 6 hours before"));
  // The backlog shrinks, or the time is short.
  evidence.earlier = Status(StatusText("500", "5001", "running"));
  EXPECT_EQ(evidence.Judge().state, HealthState::kFine);
  evidence.earlier = Status(StatusText("500", "4000", "running"));
  evidence.earlier_by = 3600;
  EXPECT_EQ(evidence.Judge().state, HealthState::kFine);
  evidence.status = Status(StatusText("500", "20", "running", "running", "13"));
  EXPECT_EQ(evidence.Judge().state, HealthState::kValidatorStuck);
}

TEST(ProjectHealth, KnowsAStoppedProjectFromOneThatIsDown) {
  Evidence stopped;
  stopped.config->sched_stopped = true;
  EXPECT_EQ(stopped.Judge().state, HealthState::kStopped);
  stopped = {};
  stopped.config->web_stopped = true;
  stopped.status.reset();
  stopped.status_failure = FetchFailure::kServerError;
  EXPECT_EQ(stopped.Judge().state, HealthState::kStopped);
  stopped = {};
  stopped.status = Status(StatusText("500", "20", "running", "not running"));
  EXPECT_EQ(stopped.Judge().state, HealthState::kStopped);

  Evidence down;
  down.status.reset();
  down.config.reset();
  down.status_failure = down.config_failure = FetchFailure::kTimeout;
  EXPECT_EQ(down.Judge().state, HealthState::kDown);
  EXPECT_THAT(down.Judge().reasons, ElementsAre("the server does not answer: timeout"));
  // One of two answers: it is there.
  down.config = Evidence().config;
  EXPECT_EQ(down.Judge().state, HealthState::kFine);
}

TEST(ProjectHealth, NoticesThatAProjectHasMoved) {
  Evidence moved;
  moved.config->master_url = "https://new.example.org/sim/";
  EXPECT_EQ(moved.Judge().state, HealthState::kMoved);
  EXPECT_THAT(moved.Judge().reasons,
              ElementsAre("the project says that its URL is https://new.example.org/sim/"));
  moved = {};
  moved.moved_to = "https://new.example.org/stats/tables.xml";
  EXPECT_EQ(moved.Judge().state, HealthState::kMoved);
}

TEST(ProjectHealth, IsUnknownIfTheProjectAnswersNeitherQuestion) {
  Evidence unknown;
  unknown.status.reset();
  unknown.config.reset();
  EXPECT_EQ(unknown.Judge().state, HealthState::kUnknown);
  unknown.status_failure = unknown.config_failure = FetchFailure::kMissing;
  EXPECT_EQ(unknown.Judge().state, HealthState::kUnknown);
  EXPECT_THAT(unknown.Judge().reasons, ElementsAre("server_status.php: missing"));
}

}  // namespace
}  // namespace cobblestone::hub
