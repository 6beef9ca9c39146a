// A project that sends its results from C++ and Python, with the shipped examples, to a deployment on a real broker.
// Every grant and total equals the oracle's, and the ledger read from Python is the whole ledger. Then the commands of
// schemas/README.md, as printed.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "services/events/event_file.h"
#include "tests/robustness/kafka_world.h"
#include "tests/support/oracle.h"

namespace cobblestone::testing {

using events::EventWriter;
using traffic::GenerateOptions;

namespace {

struct ShellResult {
  int code = -1;
  std::string out;
};

// Runs in the root of the tree, as the READMEs' commands require. Debian's Python has Debian's packages, whatever
// other Python is first in the path.
ShellResult Shell(const std::string& command) {
  ShellResult result;
  const std::string line =
      "cd '" COBBLESTONE_SOURCE_DIR "' && export PATH=\"/usr/bin:$PATH\" && set -o pipefail && " + command;
  FILE* pipe = ::popen(("bash -c '" +
                        [&] {
                          std::string quoted;
                          for (const char c : line)
                            quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
                          return quoted;
                        }() +
                        "' 2>&1")
                           .c_str(),
                       "r");
  if (pipe == nullptr) return result;
  char some[4096];
  while (const std::size_t n = std::fread(some, 1, sizeof some, pipe)) result.out.append(some, n);
  const int status = ::pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

void Replace(std::string* text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text->find(what, at)) != std::string::npos; at += by.size())
    text->replace(at, what.size(), by);
}

// Without bad lines, because JSON cannot express bytes that are not an event.
std::vector<Event> Story() {
  GenerateOptions options = TrafficOptions(33, 1500);
  options.bad_lines = 0;
  options.dispatches = true;
  return Traffic(options);
}

bool IsOfAResult(const Event& event) {
  const auto routing = wire::PeekRouting(event.envelope);
  return routing &&
         (routing->kind == wire::EventKind::kCompletion || routing->kind == wire::EventKind::kValidation ||
          routing->kind == wire::EventKind::kDispatch);
}

TEST(KafkaExamples, AProjectInCppAndPythonGetsItsCreditExactly) {
  const auto broker = TestBroker::Shared();
  const std::vector<Event> events = Story();
  const KafkaWorld world(*broker, events);
  std::vector<Event> others;
  std::vector<Event> results;
  for (const Event& event : events) (IsOfAResult(event) ? results : others).push_back(event);
  // A third for each example.
  const std::vector<std::string> parts = {"first.pb", "second.pb", "third.jsonl"};
  for (std::size_t part = 0; part < 3; ++part) {
    auto file = EventWriter::Open(world.path(parts[part]));
    ASSERT_TRUE(file.ok()) << file.status().message();
    for (std::size_t i = results.size() * part / 3; i < results.size() * (part + 1) / 3; ++i)
      ASSERT_TRUE((*file)->Write(results[i].envelope).ok());
    ASSERT_TRUE((*file)->Close().ok());
  }
  const std::string members = world.path("members.pb");
  WriteTraffic(others, members);
  std::ofstream(world.path("client.properties")) << "bootstrap.servers=" << world.bootstrap() << "\n";

  auto worker = world.Worker("w0");
  const std::vector<std::string> ingest = {"ingest", members, "--config", world.ConfigOf("admin")};
  Finished ingested = RunProgram(world.path(""), ingest);
  ASSERT_EQ(ingested.code, 0) << ingested.err;

  const std::string classes = world.path("python");
  std::filesystem::create_directory(classes);
  const ShellResult made =
      Shell("protoc --python_out=" + classes + " -I . schemas/events.proto schemas/internal.proto");
  ASSERT_EQ(made.code, 0) << made.out;
  const std::string arguments = " " + world.path("client.properties") + " " + world.prefix();
  const std::string python = "PYTHONPATH=" + classes + " examples/python/produce.py";
  const std::string produce = python + arguments + " < ";
  const std::string produce_cpp = COBBLESTONE_EXAMPLE_PRODUCE + arguments + " < ";
  // Twice: after a crash a project without a known position sends everything again.
  for (int time = 0; time < 2; ++time) {
    for (const std::string& command : {produce_cpp + world.path(parts[0]),
                                       python + " --delimited" + arguments + " < " + world.path(parts[1]),
                                       produce + world.path(parts[2])}) {
      const ShellResult sent = Shell(command);
      ASSERT_EQ(sent.code, 0) << sent.out;
    }
  }
  // Time advances after everything.
  std::ofstream(world.path("tick.jsonl"))
      << R"({"id":"1700503200","project":1,"time":1700503200,"tick":{"time":1700503200}})"
      << "\n";
  const ShellResult tick = Shell(produce + world.path("tick.jsonl"));
  ASSERT_EQ(tick.code, 0) << tick.out;
  // A line that is not an event of a result is reported, not dropped silently.
  std::ofstream(world.path("user.jsonl")) << R"({"id":"1","project":1,"time":1,"user":{"user":"5"}})"
                                          << "\n";
  const ShellResult user = Shell(produce + world.path("user.jsonl"));
  EXPECT_EQ(user.code, 1);
  EXPECT_NE(user.out.find("event 1 is not an event of a result"), std::string::npos) << user.out;
  const ShellResult member = Shell(produce_cpp + members);
  EXPECT_EQ(member.code, 1);
  EXPECT_NE(member.out.find("is not an event of a result"), std::string::npos) << member.out;

  // Nothing new, but it waits until all earlier events, of any sender, have been processed.
  ingested = RunProgram(world.path(""), ingest);
  ASSERT_EQ(ingested.code, 0) << ingested.err;

  std::vector<std::string> envelopes;
  for (const Event& event : events) envelopes.push_back(event.envelope);
  const std::size_t expected = RunOracle(envelopes).grants.size();
  ASSERT_GT(expected, 1000u);
  const ShellResult ledger = Shell("PYTHONPATH=" + classes + " examples/python/read_grants.py" + arguments);
  ASSERT_EQ(ledger.code, 0) << ledger.out;
  std::set<std::string> granted;
  std::size_t lines = 0;
  for (std::size_t at = 0; at < ledger.out.size(); ++lines) {
    const std::size_t end = ledger.out.find('\n', at);
    const auto grant = nlohmann::json::parse(ledger.out.substr(at, end - at), nullptr, false);
    ASSERT_TRUE(grant.is_object()) << ledger.out.substr(at, end - at);
    granted.insert(grant.value("result", ""));
    at = end + 1;
  }
  EXPECT_EQ(lines, expected);
  EXPECT_EQ(granted.size(), expected);

  std::ifstream readme(COBBLESTONE_SOURCE_DIR "/schemas/README.md");
  int commands = 0;
  for (std::string line; std::getline(readme, line);) {
    if (!line.starts_with("kcat ")) continue;
    Replace(&line, " cobblestone.", " " + world.prefix() + ".");
    const ShellResult result = Shell("BROKERS=" + world.bootstrap() + "; " + line);
    EXPECT_EQ(result.code, 0) << line << "\n" << result.out;
    EXPECT_FALSE(result.out.empty()) << line;
    ++commands;
  }
  EXPECT_GE(commands, 5);

  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0) << worker->err();
  world.ExpectLikeTheOracle();
}

}  // namespace
}  // namespace cobblestone::testing
