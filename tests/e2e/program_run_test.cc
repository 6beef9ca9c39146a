// `run` holds a data directory: other commands reach it through its socket, kill -9 loses nothing, and SIGTERM ends
// it cleanly.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/e2e/program_process.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {
namespace {

using nlohmann::json;
using testing::AskProgram;
using testing::Background;
using testing::Finished;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RunProgram;

constexpr int kUsers = 13;  // two users for three of the 20 hosts

// Everything that a server sends until it closes the connection.
std::string Exchange(const std::string& path, const std::string& request) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::send(connection, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char some[4096];
  for (ssize_t n = 0; (n = ::recv(connection, some, sizeof some, 0)) > 0;)
    answer.append(some, static_cast<std::size_t>(n));
  ::close(connection);
  return answer;
}

class ProgramRun : public ::testing::Test {
 protected:
  Finished Run(const std::vector<std::string>& arguments) { return RunProgram(dir_.path(), arguments); }
  // The amounts of this policy do not depend on the order of processing.
  void Generate(const std::string& file, int results) {
    const Finished made = Run({"generate", file, "--results", std::to_string(results), "--hosts", "20",
                               "--seed", "5", "--policy", "runtime", "--quiet"});
    ASSERT_EQ(made.code, 0) << made.err;
  }
  // All totals, by user.
  json Totals(const std::string& data) {
    json totals = json::array();
    for (int user = 1; user <= kUsers; ++user) {
      const json account =
          AskProgram(dir_.path(), {"account", "user", std::to_string(user), "--json", "--data", data});
      totals.push_back({account.value("total", ""), account.value("grants", 0)});
    }
    return totals;
  }
  [[nodiscard]] std::string Socket() const { return dir_ / "data/cobblestone.sock"; }

  testing::TempDir dir_;
};

TEST_F(ProgramRun, IngestAndQuestionsGoThroughTheSocket) {
  Generate("events.pb", 400);
  Background run(dir_.path(), {"run", "--data", "data"});
  ASSERT_TRUE(run.WaitFor("running")) << run.err();
  struct stat socket {};
  ASSERT_EQ(::stat(Socket().c_str(), &socket), 0);
  EXPECT_TRUE(S_ISSOCK(socket.st_mode));
  EXPECT_EQ(socket.st_mode & 0777, 0600u);

  const Finished ingested = Run({"ingest", "events.pb", "--data", "data"});
  ASSERT_EQ(ingested.code, 0) << ingested.out << ingested.err;
  const json through_socket = Totals("data");
  EXPECT_EQ(Run({"audit", "--data", "data"}).code, 0);
  EXPECT_EQ(Run({"explain", "987654321", "--data", "data"}).code, 3)
      << "errors keep their kind through the socket";
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 0) << run.err();
  EXPECT_THAT(run.err(), HasSubstr("stopped"));
  EXPECT_FALSE(std::filesystem::exists(Socket()));

  ASSERT_EQ(Run({"ingest", "events.pb", "--data", "alone"}).code, 0);
  EXPECT_EQ(Totals("alone"), through_socket) << "the same with and without a running program";
  EXPECT_EQ(Totals("data"), through_socket) << "the same after the stop";
}

TEST_F(ProgramRun, AnswersAreNotCompressedWhateverTheClientAccepts) {
  Background run(dir_.path(), {"run", "--data", "data"});
  ASSERT_TRUE(run.WaitFor("running")) << run.err();
  for (const char* path : {"/tasks", "/refused?limit=0", "/idle", "/nothing"}) {
    const std::string answer = Exchange(Socket(), "GET " + std::string(path) +
                                                      " HTTP/1.1\r\nHost: here\r\nConnection: close\r\n"
                                                      "Accept-Encoding: br, gzip, deflate\r\n\r\n");
    EXPECT_THAT(answer, Not(HasSubstr("Content-Encoding"))) << path;
    const std::size_t body = answer.find("\r\n\r\n");
    ASSERT_NE(body, std::string::npos) << path << ": " << answer;
    EXPECT_TRUE(json::accept(answer.substr(body))) << path << ": " << answer;
  }
}

TEST_F(ProgramRun, KillNineLosesNothingAndDoublesNothing) {
  Generate("events.pb", 60000);  // eight blocks or more, each with its own synced write
  ASSERT_EQ(Run({"ingest", "events.pb", "--data", "reference"}).code, 0);
  const json expected = Totals("reference");

  // Killed before a write is synced and after it: the running ingest learns that the program has ended, and the error
  // says what to do.
  for (const char* failpoint : {"E3:3", "E4:3"}) {
    Background run(dir_.path(), {"run", "--data", "data"}, failpoint);
    ASSERT_TRUE(run.WaitFor("running")) << run.err();
    const Finished cut = Run({"ingest", "events.pb", "--data", "data"});
    EXPECT_EQ(run.Wait(), 128 + SIGKILL) << failpoint;
    // The ingest may have finished before the write with the failpoint.
    EXPECT_TRUE(cut.code == 0 || cut.code == 4) << cut.code << ": " << cut.err;
    if (cut.code == 4) {
      EXPECT_THAT(cut.err, HasSubstr("start the pipeline and run the command again"));
    }
  }
  // Killed from outside, at any point.
  {
    Background run(dir_.path(), {"run", "--data", "data"});
    ASSERT_TRUE(run.WaitFor("running")) << run.err();
    Background ingest(dir_.path(), {"ingest", "events.pb", "--data", "data"});
    EXPECT_EQ(Run({"tasks", "--data", "data"}).code, 0);
    run.Signal(SIGKILL);
    EXPECT_EQ(run.Wait(), 128 + SIGKILL);
    const int code = ingest.Wait();
    EXPECT_TRUE(code == 0 || code == 4) << code << ": " << ingest.err();
  }
  EXPECT_TRUE(std::filesystem::exists(Socket())) << "the socket of the dead process still exists";
  Background run(dir_.path(), {"run", "--data", "data"});
  ASSERT_TRUE(run.WaitFor("running")) << run.err();
  EXPECT_EQ(Run({"ingest", "events.pb", "--data", "data"}).code, 0);
  EXPECT_EQ(Totals("data"), expected);
  EXPECT_EQ(Run({"audit", "--data", "data"}).code, 0);
}

TEST_F(ProgramRun, ASecondProgramOnTheSameDirectoryIsRefused) {
  Background run(dir_.path(), {"run", "--data", "data"});
  ASSERT_TRUE(run.WaitFor("running")) << run.err();
  const Finished second = Run({"run", "--data", "data"});
  EXPECT_EQ(second.code, 4);
  EXPECT_THAT(second.err, HasSubstr("in use: process"));
  EXPECT_EQ(Run({"tasks", "--data", "data"}).code, 0)
      << "the first program continues, and its socket still exists";
}

// Its partitions and its socket are not the defaults; a command with only the directory finds both.
TEST_F(ProgramRun, ADirectoryRemembersItsSettings) {
  std::ofstream(dir_ / "own.yaml") << "data_directory: data\npartitions: 3\nlisten:\n  socket: own.sock\n";
  Background run(dir_.path(), {"run", "--config", "own.yaml"});
  ASSERT_TRUE(run.WaitFor("running")) << run.err();
  const json tasks = AskProgram(dir_.path(), {"tasks", "--json", "--data", "data"});
  ASSERT_TRUE(tasks.contains("tasks"));
  EXPECT_EQ(tasks["tasks"].size(), 4u) << "four with the coordinator";
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(Run({"tasks", "--data", "data"}).code, 0)
      << "no program runs, so the command opens the directory itself";
  std::ofstream(dir_ / "other.yaml") << "data_directory: data\npartitions: 4\n";
  EXPECT_EQ(Run({"tasks", "--config", "other.yaml"}).code, 2);
}

// A copy that is served ignores requests for the original.
TEST_F(ProgramRun, ACopyOfADirectoryIsIndependent) {
  Generate("events.pb", 100);
  {
    Background first(dir_.path(), {"run", "--data", "data"});
    ASSERT_TRUE(first.WaitFor("socket=")) << first.err();
    first.Signal(SIGTERM);
    ASSERT_EQ(first.Wait(), 0);
  }
  std::filesystem::copy(dir_ / "data", dir_ / "copy", std::filesystem::copy_options::recursive);
  Background copy(dir_.path(), {"run", "--data", "copy"});
  ASSERT_TRUE(copy.WaitFor("socket=")) << copy.err();
  ASSERT_EQ(Run({"ingest", "events.pb", "--data", "data"}).code, 0);
  EXPECT_EQ(Run({"account", "user", "1", "--data", "data"}).code, 0);
  EXPECT_EQ(Run({"account", "user", "1", "--data", "copy"}).code, 3) << "the copy has no such user";
  copy.Signal(SIGTERM);
  EXPECT_EQ(copy.Wait(), 0);
}

TEST_F(ProgramRun, ProjectsHaveNamesAndAnUnknownOneIsAnError) {
  std::ofstream(dir_ / "named.yaml") << "data_directory: data\nprojects:\n  - {id: 1, name: \"Ein: stein\"}\n"
                                     << "  - {id: 7, name: LHC}\n";
  Generate("events.pb", 100);
  Background run(dir_.path(), {"run", "--config", "named.yaml"});
  ASSERT_TRUE(run.WaitFor("running")) << run.err();
  ASSERT_EQ(Run({"ingest", "events.pb", "--data", "data"}).code, 0);
  const auto ask = [&] {
    EXPECT_THAT(Run({"account", "user", "1", "--data", "data"}).out,
                HasSubstr("User 1 of project 1 (Ein: stein)"));
    EXPECT_THAT(Run({"scales", "--data", "data"}).out, HasSubstr("Project 1 (Ein: stein), scale epoch"));
    EXPECT_EQ(AskProgram(dir_.path(), {"scales", "--json", "--data", "data"})["project_name"], "Ein: stein");
    const Finished unknown = Run({"explain", "5", "--project", "2", "--data", "data"});
    EXPECT_EQ(unknown.code, 3);
    EXPECT_THAT(unknown.err, HasSubstr("there is no project 2; known projects: 1 (Ein: stein), 7 (LHC)"));
    const Finished nothing_yet = Run({"scales", "--project", "7", "--data", "data"});
    EXPECT_EQ(nothing_yet.code, 3);
    EXPECT_THAT(nothing_yet.err, HasSubstr("there is no project 7\n")) << "known, but without a catalogue";
  };
  ask();
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 0);
  ask();  // the directory remembers the names
  // A project in the data is known, listed or not.
  std::ofstream(dir_ / "other.yaml") << "data_directory: data\nprojects:\n  - {id: 7, name: LHC}\n";
  EXPECT_EQ(Run({"account", "user", "1", "--config", "other.yaml"}).code, 0);
  EXPECT_THAT(Run({"scales", "--project", "2", "--config", "other.yaml"}).err,
              HasSubstr("known projects: 1, 7 (LHC)"));
}

TEST_F(ProgramRun, AHeldDirectoryThatDoesNotAnswerIsBusy) {
  std::ofstream(dir_ / "own.yaml") << "data_directory: data\nlisten:\n  socket: own.sock\n";
  std::ofstream(dir_ / "other.yaml") << "data_directory: data\n";
  Background run(dir_.path(), {"run", "--config", "own.yaml"});
  ASSERT_TRUE(run.WaitFor("running")) << run.err();
  const Finished asked = Run({"tasks", "--config", "other.yaml"});
  EXPECT_EQ(asked.code, 4);
  EXPECT_THAT(asked.err, HasSubstr("listen.socket; waiting"));
  EXPECT_THAT(asked.err, HasSubstr("uses another listen.socket; try again later"));
}

// A question meanwhile waits until the directory is free.
TEST_F(ProgramRun, ABrieflyHeldDirectoryIsWaitedFor) {
  std::ofstream(dir_ / "own.yaml") << "data_directory: data\nlisten:\n  socket: own.sock\n";
  std::ofstream(dir_ / "other.yaml") << "data_directory: data\n";
  Background run(dir_.path(), {"run", "--config", "own.yaml"});
  ASSERT_TRUE(run.WaitFor("running")) << run.err();
  Background asks(dir_.path(), {"tasks", "--config", "other.yaml"});
  ASSERT_TRUE(asks.WaitFor("listen.socket; waiting")) << asks.err();
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 0) << run.err();
  EXPECT_EQ(asks.Wait(), 0) << asks.err();
}

// README's first commands: `run` in the background and `ingest` at once, which may open the new directory first.
TEST_F(ProgramRun, AnIngestThatHasTheDirectoryIsWaitedFor) {
  ASSERT_EQ(::mkfifo((dir_ / "events.jsonl").c_str(), 0600), 0);
  Background ingest(dir_.path(), {"ingest", "events.jsonl", "--data", "data"});
  // `ingest` opens the pipe as well, to find out the kind of file; it is not inherited by `run`.
  const int events = ::open((dir_ / "events.jsonl").c_str(), O_WRONLY | O_CLOEXEC);
  const std::string event = R"({"id":"1","project":1,"time":1700000000,"user":{"user":"42","name":"Ada"}})"
                            "\n";
  ASSERT_EQ(::write(events, event.data(), event.size()), static_cast<ssize_t>(event.size()));
  const auto held = [&] { return std::filesystem::exists(dir_ / "data/log/LOCK"); };
  for (int i = 0; i < 600 && !held(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_TRUE(held()) << ingest.err();
  Background run(dir_.path(), {"run", "--data", "data"});
  ASSERT_TRUE(run.WaitFor("waiting for the data directory")) << run.err();
  ::close(events);
  EXPECT_EQ(ingest.Wait(), 0) << ingest.err();
  ASSERT_TRUE(run.WaitFor("running")) << run.err();
  // A program that serves is not waited for.
  const Finished second = Run({"run", "--data", "data"});
  EXPECT_EQ(second.code, 4) << second.err;
  EXPECT_THAT(second.err, Not(HasSubstr("waiting")));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 0) << run.err();
}

TEST_F(ProgramRun, LogsAreJsonWhereConfigured) {
  std::ofstream(dir_ / "json.yaml") << "data_directory: \"data\\\"1\"\nlog:\n  format: json\n";
  Background run(dir_.path(), {"run", "--config", "json.yaml"});
  ASSERT_TRUE(run.WaitFor("running")) << run.err();
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(), 0);
  std::istringstream lines(run.err());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json one = json::parse(line, nullptr, false);
    ASSERT_TRUE(one.is_object()) << line;
    EXPECT_TRUE(one.contains("time") && one.contains("level") && one.contains("message")) << line;
    if (one["message"] == "running") {
      EXPECT_EQ(one["data"], "data\"1");
    }
  }
  EXPECT_GE(count, 3);
}

}  // namespace
}  // namespace cobblestone
