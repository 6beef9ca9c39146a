// Events over HTTP: each line is ingested once, whatever is sent again, also over deaths of the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/e2e/gateway_process.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kEvents = "/api/v1/events?source=http";

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line + "\n");
  return lines;
}

std::string Part(const std::vector<std::string>& lines, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < std::min(end, lines.size()); ++i) text += lines[i];
  return text;
}

std::string From(std::size_t line) { return std::string(kEvents) + "&first_line=" + std::to_string(line); }

// Totals of some users, from a directory that no program uses.
json Totals(const TempDir& dir, const std::string& data) {
  json totals = json::array();
  for (const int user : {1, 4, 7, 10, 13}) {
    const json account =
        AskProgram(dir.path(), {"account", "user", std::to_string(user), "--json", "--data", data});
    totals.push_back({account.value("total", ""), account.value("grants", 0)});
  }
  return totals;
}

TEST(GatewayIngest, EachLineIsIngestedOnceWithTheCreditOfIngest) {
  TempDir dir;
  const std::string text = EventLines(dir, 400);
  const auto lines = LinesOf(text);
  ASSERT_GT(lines.size(), 800u);
  ASSERT_EQ(RunProgram(dir.path(), {"ingest", "events.jsonl", "--data", "reference"}).code, 0);
  Served served(dir, "");
  ASSERT_TRUE(served.Start()) << served.process().err();

  // In three batches; the first one has the catalogue and all members.
  std::size_t at = 0;
  for (const std::size_t end : {std::size_t{500}, std::size_t{700}, lines.size()}) {
    const Reply reply = served.Post(From(at), Part(lines, at, end), kIngestToken);
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.json()["data"], (json{{"source", "http"},
                                          {"first_line", at},
                                          {"lines", end},
                                          {"appended", end - at},
                                          {"repeated", 0},
                                          {"bad_lines", 0},
                                          {"refused", json::array()}}));
    at = end;
  }
  // Sent again: the last batch, everything from the start, everything in other batches.
  Reply again = served.Post(From(700), Part(lines, 700, lines.size()), kIngestToken);
  ASSERT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.json()["data"]["repeated"], lines.size() - 700);
  EXPECT_EQ(again.json()["data"]["appended"], 0);
  again = served.Post(kEvents, text, kIngestToken);
  EXPECT_EQ(again.json()["data"]["repeated"], lines.size());
  for (at = 0; at < lines.size(); at += 100) {
    again = served.Post(From(at), Part(lines, at, at + 100), kIngestToken);
    ASSERT_EQ(again.status, 200) << again.body;
    EXPECT_EQ(again.json()["data"]["appended"], 0);
  }
  const json known = served.Get(kEvents, kIngestToken).json()["data"];
  EXPECT_EQ(known["lines"], lines.size());
  // `ingest` continues the same source.
  const Finished same =
      RunProgram(dir.path(), {"ingest", "events.jsonl", "--source", "http", "--data", "data"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(served.Get(kEvents, kIngestToken).json()["data"], known);
  served.process().Signal(SIGTERM);
  EXPECT_EQ(served.process().Wait(), 0) << served.process().err();
  EXPECT_EQ(Totals(dir, "data"), Totals(dir, "reference"));
  EXPECT_EQ(RunProgram(dir.path(), {"audit", "--data", "data"}).code, 0);
}

TEST(GatewayIngest, OtherLinesUnderTheSameNumbersAreAConflict) {
  TempDir dir;
  const auto lines = LinesOf(EventLines(dir, 100));
  Served served(dir, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  ASSERT_EQ(served.Post(From(0), Part(lines, 0, 50), kIngestToken).status, 200);
  ASSERT_EQ(served.Post(From(50), Part(lines, 50, 60), kIngestToken).status, 200);

  const auto conflict = [&](std::size_t first, const std::string& body, const char* what) {
    const Reply reply = served.Post(From(first), body, kIngestToken);
    EXPECT_EQ(reply.status, 409) << reply.body;
    EXPECT_EQ(reply.json()["error"]["code"], "conflict");
    EXPECT_THAT(reply.json()["error"].value("message", ""), HasSubstr(what));
    EXPECT_EQ(reply.json()["lines"], 60);
  };
  conflict(61, Part(lines, 61, 62), "lines are missing before line 62");
  auto changed = lines;
  std::swap(changed[55], changed[56]);
  conflict(50, Part(changed, 50, 60), "differ from the ingested lines");
  conflict(50, Part(changed, 50, 70), "differ from the ingested lines");
  conflict(0, Part(changed, 0, 60), "differ from the ingested lines");
  conflict(30, Part(lines, 30, 60), "is no longer available");
  EXPECT_EQ(served.Get(kEvents, kIngestToken).json()["data"]["lines"], 60);
  // The source then continues at its position.
  EXPECT_EQ(served.Post(From(60), Part(lines, 60, 70), kIngestToken).status, 200);
}

TEST(GatewayIngest, ABadLineIsNamedAndItsBatchIsRejected) {
  TempDir dir;
  const auto lines = LinesOf(EventLines(dir, 100));
  Served served(dir, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  ASSERT_EQ(served.Post(From(0), Part(lines, 0, 50), kIngestToken).status, 200);
  const std::string bad = lines[50] + "{\"id\":\"1\", nonsense}\n\n" + lines[51] + "{}\n";
  Reply reply = served.Post(From(50), bad, kIngestToken);
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.json()["error"].value("message", ""), HasSubstr("line 52 of http"));
  ASSERT_EQ(reply.json()["bad"].size(), 2u) << reply.body;
  EXPECT_EQ(reply.json()["bad"][0]["line"], 52);
  EXPECT_EQ(reply.json()["bad"][1]["line"], 55);
  EXPECT_EQ(reply.json()["lines"], 50);
  EXPECT_EQ(served.Get(kEvents, kIngestToken).json()["data"]["lines"], 50);

  // With bad_lines=refuse the line is stored with the refused records, as `ingest` does.
  reply = served.Post(From(50) + "&bad_lines=refuse", bad, kIngestToken);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.json()["data"]["lines"], 55);
  EXPECT_EQ(reply.json()["data"]["appended"], 2);
  EXPECT_EQ(reply.json()["data"]["refused"].size(), 2u);
  const json refused = served.Get("/api/v1/refused", kReadToken).json()["data"];
  ASSERT_EQ(refused["all"], 2) << refused;
  EXPECT_EQ(refused["refused"][0]["source"], "http");
  EXPECT_EQ(refused["refused"][0]["line"], 55) << "newest first, with the same line as in the answer above";
  EXPECT_EQ(served.Get("/api/v1/refused/1", kReadToken).json()["data"], refused["refused"][0]);
  EXPECT_EQ(served.Get("/api/v1/refused?from=0&limit=1", kReadToken).json()["data"]["refused"][0]["number"],
            0);
  EXPECT_EQ(served.Get("/api/v1/refused?before=1", kReadToken).json()["data"]["refused"].size(), 1u);
  EXPECT_EQ(served.Get("/api/v1/refused/2", kReadToken).status, 404);
}

// Replaces the token file atomically, as an operator should.
void SetTokens(const TempDir& dir, const std::string& text) {
  std::ofstream(dir / "tokens.new") << text;
  ASSERT_EQ(::chmod((dir / "tokens.new").c_str(), 0600), 0);
  ASSERT_EQ(std::rename((dir / "tokens.new").c_str(), (dir / "tokens").c_str()), 0);
}

TEST(GatewayTokens, AnOpenStreamEndsWhenItsTokenIsRevoked) {
  TempDir dir;
  Served served(dir, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  std::atomic<bool> flows{false};
  std::atomic<bool> over{false};
  std::thread watcher([&] {
    httplib::Client client(served.url());
    client.set_read_timeout(60);
    (void)client.Get("/api/v1/live", {{"Authorization", std::string("Bearer ") + kReadToken}},
                     [&](const char*, std::size_t) { return flows = true; });
    over = true;
  });
  while (!flows && !over) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(over);
  SetTokens(dir, "read another-token-0123456789\n");
  watcher.join();  // otherwise the test would run into its time limit
  EXPECT_EQ(served.Get("/api/v1/projects", "another-token-0123456789").status, 200);
  EXPECT_EQ(served.Get("/api/v1/projects", kReadToken).status, 401);
}

TEST(GatewayIngest, ATokenWithoutPermissionRejectsTheWholeBatch) {
  TempDir dir;
  Served served(dir, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  const std::string user = R"({"id":"1","project":1,"time":1700000000,"user":{"user":"1","name":"Ada"}})"
                           "\n";
  const std::string post = "/api/v1/events?source=mine&first_line=0";
  for (
      const char* event :
      {R"({"id":"2","project":2,"time":1700000000,"user":{"user":"1","name":"Ada"}})",
       R"({"id":"3","project":1,"time":1700000000,"openingTotal":{"kind":"ACCOUNT_KIND_USER","account":"1","total":5}})",
       R"({"id":"4","project":1,"time":1700000000,"reversal":{"result":"1"}})",
       R"({"id":"5","project":1,"time":1700000000,"machineHost":{"machine":"1","host":"1"}})",
       R"({"id":"6","time":1700000000,"tick":{"time":1700000000}})",
       R"({"id":"7","project":1,"barrier":{}})"}) {
    for (const char* mode : {"", "&bad_lines=refuse"}) {
      const Reply reply = served.Post(post + mode, user + event + "\nno event\n", kOtherIngestToken);
      EXPECT_EQ(reply.status, 403) << event << reply.body;
      EXPECT_EQ(reply.json()["bad"][0]["line"], 2) << reply.body;
      EXPECT_THAT(reply.json()["error"].value("message", ""),
                  HasSubstr("results, members, catalogue of project 1"));
      EXPECT_EQ(served.Get("/api/v1/events?source=mine", kOtherIngestToken).json()["data"]["lines"], 0);
    }
  }
  EXPECT_EQ(served.Get("/api/v1/refused").json()["data"]["all"], 0);
  EXPECT_EQ(served.Post(post, user, kOtherIngestToken).status, 200);
}

TEST(GatewayIngest, ASourceKeepsItsOwnerOverRestartsAndTokenRotation) {
  TempDir dir;
  const std::string event = R"({"id":"1","project":1,"time":1700000000,"user":{"user":"1","name":"Ada"}})"
                            "\n";
  const auto at = [](int line) { return "/api/v1/events?source=server1&first_line=" + std::to_string(line); };
  const auto turned_away = [&](Served& served, const std::string& token) {
    for (const Reply& reply : {served.Get("/api/v1/events?source=server1", token),
                               served.Post(at(1), event, token), served.Post(at(0), "\n", token)}) {
      EXPECT_EQ(reply.status, 403) << reply.body;
      EXPECT_THAT(reply.body, Not(HasSubstr("lines")));
      EXPECT_THAT(reply.body, Not(HasSubstr("hash")));
    }
  };
  const auto serves = [&](Served& served) {
    if (!served.Start()) return false;
    // Waits until the program has read the current token file, which may be after its start.
    return served
               .GetUntil(
                   "/api/v1/events?source=unused", [](const Reply& r) { return r.status == 200; },
                   kIngestToken)
               .status == 200;
  };
  {
    Served served(dir, "");
    ASSERT_TRUE(serves(served)) << served.process().err();
    EXPECT_EQ(served.Post(at(0), event, kOtherIngestToken).status, 200);
    turned_away(served, kIngestToken);
    EXPECT_EQ(served.Post(at(1), event, kOtherIngestToken).json()["data"]["lines"], 2);
    // The token gets a name while the program runs.
    SetTokens(dir, std::string("ingest 1 all server1:") + kOtherIngestToken + "\ningest * all " +
                       kIngestToken + "\ningest 1 all other:other-token-0123456789\n");
    served.GetUntil(
        "/api/v1/events?source=unused", [](const Reply& r) { return r.status == 200; },
        "other-token-0123456789");
    turned_away(served, "other-token-0123456789");
    EXPECT_EQ(served.Post(at(2), event, kOtherIngestToken).json()["data"]["lines"], 3);
    // The token is rotated: the old one is rejected, the new one continues the source.
    SetTokens(dir,
              std::string("ingest 1 all server1:new-token-0123456789\ningest * all ") + kIngestToken + "\n");
    served.GetUntil(
        "/api/v1/events?source=unused", [](const Reply& r) { return r.status == 200; },
        "new-token-0123456789");
    EXPECT_EQ(served.Post(at(3), event, kOtherIngestToken).status, 401);
    EXPECT_EQ(served.Post(at(3), event, "new-token-0123456789").json()["data"]["lines"], 4);
    // A malformed file changes nothing, and health reports it.
    SetTokens(dir, "ingest new-token-0123456789\n");
    const Reply health = served.GetUntil(
        "/api/v1/health", [](const Reply& r) { return r.json().value("status", "") == "degraded"; });
    EXPECT_THAT(health.body, HasSubstr("token file"));
    EXPECT_EQ(served.Post(at(4), event, "new-token-0123456789").json()["data"]["lines"], 5);
    EXPECT_THAT(served.process().err(), Not(HasSubstr("new-token-0123456789")));
    served.process().Signal(SIGKILL);
    served.process().Wait();
  }
  Served again(dir, "");
  ASSERT_TRUE(again.Start()) << again.process().err();
  SetTokens(dir,
            std::string("ingest 1 all server1:newer-token-0123456789\ningest * all ") + kIngestToken + "\n");
  again.GetUntil(
      "/api/v1/events?source=unused", [](const Reply& r) { return r.status == 200; },
      "newer-token-0123456789");
  turned_away(again, kIngestToken);
  EXPECT_EQ(again.Post(at(5), event, "newer-token-0123456789").json()["data"]["lines"], 6);
  // Sources of files belong to the operator, who may continue every source.
  again.process().Signal(SIGTERM);
  EXPECT_EQ(again.process().Wait(), 0);
  std::ofstream(dir / "file.jsonl") << event;
  EXPECT_EQ(RunProgram(dir.path(), {"ingest", "file.jsonl", "--data", "data"}).code, 0);
  Served last(dir, "");
  ASSERT_TRUE(last.Start()) << last.process().err();
  EXPECT_EQ(last.Get("/api/v1/events?source=file.jsonl", kIngestToken).status, 403);
  EXPECT_EQ(last.Post("/api/v1/events?source=file.jsonl&first_line=1", event, kIngestToken).status, 403);
}

TEST(GatewayIngest, ABadBatchIsAnsweredWithItsFirst100Lines) {
  TempDir dir;
  Served served(dir, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  std::string body;
  for (int i = 0; i < 100000; ++i) body += "a line of another format\n";
  Reply reply = served.Post(From(0), body, kIngestToken);
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.json()["bad"].size(), 100u);
  EXPECT_THAT(reply.json()["error"].value("message", ""), HasSubstr("read up to bad line 100"));
  EXPECT_LT(reply.body.size(), 100000u);
  reply = served.Post(From(0) + "&bad_lines=refuse", body, kIngestToken);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json()["data"]["refused"].size(), 100u);
  EXPECT_EQ(reply.json()["data"]["bad_lines"], 100000);
  EXPECT_EQ(served.Get("/api/v1/refused?limit=1").json()["data"]["all"], 100000);
}

TEST(GatewayIngest, ProtobufIsIngestedAsWell) {
  TempDir dir;
  ASSERT_EQ(
      RunProgram(dir.path(), {"generate", "events.pb", "--results", "50", "--hosts", "20", "--quiet"}).code,
      0);
  std::ifstream file(dir / "events.pb", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  Served served(dir, "");
  ASSERT_TRUE(served.Start()) << served.process().err();
  const Reply cut =
      served.Post(kEvents, bytes.substr(0, bytes.size() - 3), kIngestToken, "application/x-protobuf");
  EXPECT_EQ(cut.status, 400);
  EXPECT_THAT(cut.json()["error"].value("message", ""), HasSubstr("the body is truncated"));
  const Reply whole = served.Post(kEvents, bytes, kIngestToken, "application/x-protobuf");
  ASSERT_EQ(whole.status, 200) << whole.body;
  EXPECT_GT(whole.json()["data"]["appended"].get<int>(), 100);
  EXPECT_EQ(RunProgram(dir.path(), {"ingest", "events.pb", "--source", "http", "--data", "data"}).code, 0);
  EXPECT_EQ(served.Post(kEvents, bytes, kIngestToken, "text/csv").status, 415);
}

// Killed before a write is synced, after it, and from outside: a batch without an answer is sent again.
TEST(GatewayIngest, KillNineLosesNothingAndDoublesNothing) {
  TempDir dir;
  const auto lines = LinesOf(EventLines(dir, 3000));
  ASSERT_EQ(RunProgram(dir.path(), {"ingest", "events.jsonl", "--data", "reference"}).code, 0);
  std::size_t done = 0;
  int deaths = 0;
  for (const char* failpoint : {"E3:4", "E4:4", "E3:9", "E4:12", ""}) {
    Served served(dir, "", "run", failpoint);
    if (!served.Start()) {
      ++deaths;  // the failpoint hit during the open
      continue;
    }
    while (done < lines.size()) {
      const std::size_t end = std::min(done + 200, lines.size());
      const Reply reply = served.Post(From(done), Part(lines, done, end), kIngestToken);
      if (reply.status == 0) break;
      ASSERT_EQ(reply.status, 200) << reply.body;
      EXPECT_EQ(reply.json()["data"]["lines"], end);
      done = end;
    }
    if (done < lines.size()) {
      EXPECT_EQ(served.process().Wait(), 128 + SIGKILL) << failpoint;
      ++deaths;
      continue;
    }
    served.process().Signal(SIGTERM);
    EXPECT_EQ(served.process().Wait(), 0);
  }
  EXPECT_GE(deaths, 3);
  ASSERT_EQ(done, lines.size());
  // Everything is ingested already; this only processes the rest.
  EXPECT_EQ(RunProgram(dir.path(), {"ingest", "events.jsonl", "--source", "http", "--data", "data"}).code, 0);
  EXPECT_EQ(Totals(dir, "data"), Totals(dir, "reference"));
  EXPECT_EQ(RunProgram(dir.path(), {"audit", "--data", "data"}).code, 0);
}

TEST(GatewayIngest, ALockstepPipelineExplainsTheRequiredOrder) {
  TempDir dir;
  const auto lines = LinesOf(EventLines(dir, 50));
  std::ofstream(dir / "lockstep.yaml")
      << "data_directory: data\norder: lockstep\ngateway: {listen: '127.0.0.1:0', "
         "tokens_file: tokens}\n";
  Served unused(dir, "", "config");  // writes the token file
  Background run(dir.path(), {"run", "--config", "lockstep.yaml"});
  ASSERT_TRUE(run.WaitFor("gateway=")) << run.err();
  const std::size_t begin = run.err().rfind("gateway=") + 8;
  httplib::Client client(run.err().substr(begin, run.err().find_first_of(" \n", begin) - begin));
  const auto reply = client.Post(kEvents, {{"Authorization", std::string("Bearer ") + kIngestToken}},
                                 Part(lines, 0, 10), "application/x-ndjson");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 400);
  EXPECT_THAT(reply->body, HasSubstr("`order: lockstep`"));
}

}  // namespace
}  // namespace cobblestone::testing
