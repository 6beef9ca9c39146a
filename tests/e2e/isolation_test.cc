// Several projects in one program: a flood or a fault of project 1 changes nothing for projects 2 and 3, and senders
// that wait for their quota lose nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/gateway_process.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kBatch = 25;  // lines

std::string TokenOf(int project) { return "token-of-project-" + std::to_string(project) + "-0123456789"; }

std::vector<std::string> LinesIn(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line + "\n");
  return lines;
}

std::string Batch(const std::vector<std::string>& lines, std::size_t begin) {
  std::string text;
  for (std::size_t i = begin; i < std::min(begin + kBatch, lines.size()); ++i) text += lines[i];
  return text;
}

// The number of a sample in a scrape; -1: there is none.
double Sample(const std::string& scrape, const std::string& name) {
  const auto at = scrape.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::stod(scrape.substr(at + name.size() + 2));
}

class Isolation : public ::testing::Test {
 protected:
  Isolation() {
    std::ofstream(dir_ / "tokens") << "read " << kReadToken << "\ningest 1 all " << TokenOf(1)
                                   << "\ningest 2 all " << TokenOf(2) << "\ningest 3 all " << TokenOf(3)
                                   << "\n";
    ::chmod((dir_ / "tokens").c_str(), 0600);
  }

  // `settings`: what config.yaml has besides places and tokens.
  std::unique_ptr<Served> Serve(const std::string& settings) {
    std::ofstream(dir_ / "config.yaml")
        << "data_directory: data\npartitions: 3\ngateway: {listen: '127.0.0.1:0', tokens_file: tokens}\n"
        << settings;
    auto served = std::make_unique<Served>(std::make_unique<Background>(
        dir_.path(), std::vector<std::string>{"run", "--config", "config.yaml"}));
    EXPECT_TRUE(served->Start()) << served->process().err();
    return served;
  }

  // Writes projectN.jsonl. The policy has no history: credit does not depend on the order between projects.
  std::vector<std::string> Traffic(int project, int results, int versions = 8) {
    const std::string file = "project" + std::to_string(project) + ".jsonl";
    EXPECT_EQ(Run({"generate", file, "--project", std::to_string(project), "--seed", std::to_string(project),
                   "--results", std::to_string(results), "--versions", std::to_string(versions), "--hosts",
                   "20", "--policy", "runtime", "--quiet"})
                  .code,
              0);
    return LinesIn(dir_ / file);
  }

  Finished Run(const std::vector<std::string>& arguments) { return RunProgram(dir_.path(), arguments); }

  // Totals and grants of some users of a project, of 13 (two for every three of 20 hosts); from a directory at rest.
  json Totals(const std::string& data, int project) {
    json totals = json::array();
    for (const int user : {1, 4, 7, 10, 13}) {
      const json account = AskProgram(dir_.path(), {"account", "user", std::to_string(user), "--project",
                                                    std::to_string(project), "--json", "--data", data});
      totals.push_back({account.value("total", ""), account.value("grants", 0)});
    }
    return totals;
  }

  // Stops the program, and compares the accounts of a project with those of its file alone.
  void ExpectTotalsOf(int project) {
    const std::string alone = "alone" + std::to_string(project);  // the same file again adds nothing
    ASSERT_EQ(Run({"ingest", "project" + std::to_string(project) + ".jsonl", "--data", alone}).code, 0);
    const json totals = Totals(alone, project);
    EXPECT_EQ(Totals("data", project), totals) << "project " << project;
    EXPECT_TRUE(std::any_of(totals.begin(), totals.end(), [](const json& one) { return one[1] > 0; }));
  }

  static std::string Path(const std::string& source, std::size_t first_line) {
    return "/api/v1/events?bad_lines=refuse&source=" + source + "&first_line=" + std::to_string(first_line);
  }

  // Sends all lines; each batch must be accepted the first time.
  static void SendAll(Served& served, int project, const std::vector<std::string>& lines) {
    for (std::size_t at = 0; at < lines.size(); at += kBatch) {
      const Reply reply =
          served.Post(Path("p" + std::to_string(project), at), Batch(lines, at), TokenOf(project));
      ASSERT_EQ(reply.status, 200) << "project " << project << ": " << reply.body;
      ASSERT_EQ(reply.json()["data"]["bad_lines"], 0);
    }
  }

  static void Stop(Served& served) {
    served.process().Signal(SIGTERM);
    EXPECT_EQ(served.process().Wait(), 0) << served.process().err();
  }

  TempDir dir_;
};

// Four connections of project 1 send without pause, and ignore how long they shall wait. A batch has as many events as
// the quota of a second.
TEST_F(Isolation, AFloodOfOneProjectIsRefusedAndTheOthersSendAsIfAlone) {
  const auto flood = Traffic(1, 3000);
  const auto second = Traffic(2, 400);
  const auto third = Traffic(3, 400);
  const auto served = Serve(
      "quota: {burst: 1 s}\n"
      "projects: [{id: 1, name: one, events_per_second: 25}, {id: 2, name: two}, {id: 3, name: three}]\n");
  std::atomic<bool> honest_ended = false;
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> refused = 0;
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const std::string source = "flood" + std::to_string(thread);
      std::size_t at = 0;
      // Until it was refused ten times as often as it was accepted.
      while (!honest_ended || refused < 10 * accepted) {
        const Reply reply = served->Post(Path(source, at), Batch(flood, at), TokenOf(1));
        if (reply.status == 200) {
          ++accepted;
          at += kBatch;
          ASSERT_LT(at, flood.size()) << "every batch is accepted";
          continue;
        }
        ASSERT_EQ(reply.status, 429) << reply.body;
        ++refused;
        const json answer = reply.json();
        ASSERT_EQ(answer["error"]["code"], "quota_exceeded");
        ASSERT_THAT(
            answer["error"]["message"].get<std::string>(),
            HasSubstr("project 1 is beyond its quota of 25 events per second; no events of this request "
                      "were ingested: send it again in "));
        ASSERT_EQ(answer["project"], 1);
        ASSERT_EQ(answer["quota"], "events_per_second");
        ASSERT_GE(answer["retry_after"], 1);
        ASSERT_EQ(reply.header("Retry-After"), answer["retry_after"].dump());
      }
    });
  }
  std::thread sends_second([&] { SendAll(*served, 2, second); });
  SendAll(*served, 3, third);
  sends_second.join();
  honest_ended = true;
  for (std::thread& thread : threads) thread.join();

  const std::string scrape = served->Get("/api/v1/metrics", kReadToken).body;
  EXPECT_EQ(Sample(scrape, R"(cobblestone_project_throttled_total{project="1"})"),
            static_cast<double>(refused));
  EXPECT_EQ(Sample(scrape, R"(cobblestone_project_throttled_total{project="2"})"), 0);
  EXPECT_EQ(Sample(scrape, R"(cobblestone_project_events_total{project="2"})"),
            static_cast<double>(second.size()));
  EXPECT_EQ(Sample(scrape, R"(cobblestone_project_events_total{project="3"})"),
            static_cast<double>(third.size()));
  EXPECT_EQ(Sample(scrape, R"(cobblestone_project_quota{project="1",unit="events"})"), 25);
  Stop(*served);
  ExpectTotalsOf(2);
  ExpectTotalsOf(3);
  EXPECT_EQ(Run({"audit", "--data", "data"}).code, 0);
}

// The order of events, with no clock: the flood is in debt from its first batch on, so no later event of it comes before an
// event of project 2, which is accepted, processed and answered in the middle of the flood. The debt of the first batch
// is an hour.
TEST_F(Isolation, NoEventOfAnotherProjectWaitsBehindAFlood) {
  const auto second = Traffic(2, 400);
  ASSERT_EQ(Run({"ingest", "project2.jsonl", "--data", "alone2"}).code, 0);
  const std::string total =
      AskProgram(dir_.path(), {"account", "user", "1", "--project", "2", "--json", "--data", "alone2"})
          .value("total", "");
  const auto served = Serve(
      "quota: {burst: 1 s}\n"
      "projects: [{id: 1, name: one, events_per_second: 1}, {id: 2, name: two}]\n");
  const auto users = [](std::size_t from, std::size_t count) {
    std::string lines;
    for (std::size_t id = from; id < from + count; ++id)
      lines +=
          R"({"id":)" + std::to_string(id) + R"(,"project":1,"user":{"user":)" + std::to_string(id) + "}}\n";
    return lines;
  };
  constexpr std::size_t kFirst = 3600;
  ASSERT_EQ(served->Post(Path("flood", 0), users(1, kFirst), TokenOf(1)).status, 200);

  std::atomic<bool> answered = false;
  std::atomic<std::size_t> refused = 0;
  std::vector<std::thread> flood;
  for (std::size_t thread = 0; thread < 4; ++thread) {
    flood.emplace_back([&, thread] {
      const std::size_t from = kFirst + 1 + thread * kBatch;
      // Ten batches for each one of project 2 at least.
      while (!answered || refused * kBatch < 10 * second.size()) {
        const Reply reply =
            served->Post(Path("flood" + std::to_string(thread), 0), users(from, kBatch), TokenOf(1));
        ASSERT_EQ(reply.status, 429) << reply.body;
        ++refused;
      }
    });
  }
  while (refused < flood.size() && !HasFailure()) std::this_thread::yield();  // the flood has begun
  SendAll(*served, 2, second);
  const auto done = [&](const Reply& reply) {
    return reply.status == 200 && reply.json()["data"].value("total", "") == total;
  };
  const Reply user = served->GetUntil("/api/v1/projects/2/users/1", done, kReadToken);
  const std::string scrape = served->Get("/api/v1/metrics", kReadToken).body;
  answered = true;
  for (std::thread& thread : flood) thread.join();

  EXPECT_TRUE(done(user)) << user.body;
  EXPECT_EQ(Sample(scrape, R"(cobblestone_project_events_total{project="1"})"), kFirst);
  EXPECT_EQ(Sample(scrape, R"(cobblestone_project_events_total{project="2"})"),
            static_cast<double>(second.size()));
  EXPECT_GE(Sample(scrape, R"(cobblestone_project_throttled_total{project="1"})"), 4);
  EXPECT_EQ(Sample(scrape, R"(cobblestone_project_throttled_total{project="2"})"), 0);
  Stop(*served);
  ExpectTotalsOf(2);
}

// Everything a project can send wrongly at once, in turns with the batches of the others.
TEST_F(Isolation, BadLinesAnImpossibleCatalogueAndATimeJumpOfOneProjectChangeNothingForTheOthers) {
  const auto second = Traffic(2, 400);
  const auto third = Traffic(3, 400);
  const std::vector<std::string> faults = {
      "this is no event\n",
      R"({"id":1,"project":1,"app":{"app":1,"name":"a","policy":"no-such-policy"}})"
      "\n",
      R"({"id":2,"project":1,"app_version":{"app_version":1,"app":99,"version_num":1,"platform":1}})"
      "\n",
      R"({"id":3,"project":1,"host":{"host":1,"user":1,"p_fpops":-1}})"
      "\n",
      // The traffic is of the year 2023. The time of project 1 jumps by two years, then an event comes from 2100.
      R"({"id":4,"project":1,"time":1763000000,"tick":{"time":1763000000}})"
      "\n",
      R"({"id":5,"project":1,"time":4102444800,"tick":{"time":4102444800}})"
      "\n",
  };
  const auto served = Serve("quota: {events_per_second: 1000000}\n");
  std::size_t sent = 0;
  for (std::size_t at = 0; at < std::max(second.size(), third.size()); at += kBatch) {
    std::string wrong;
    for (const std::string& fault : faults) wrong += fault;
    const Reply reply = served->Post(Path("faults", sent), wrong, TokenOf(1));
    ASSERT_EQ(reply.status, 200) << reply.body;
    sent += faults.size();
    for (const auto& [project, lines] : {std::pair{2, &second}, std::pair{3, &third}}) {
      if (at >= lines->size()) continue;
      const Reply good =
          served->Post(Path("p" + std::to_string(project), at), Batch(*lines, at), TokenOf(project));
      ASSERT_EQ(good.status, 200) << good.body;
    }
  }
  Stop(*served);
  const json refused =
      AskProgram(dir_.path(), {"refused", "list", "--limit", "1000", "--json", "--data", "data"});
  EXPECT_GT(refused["refused"].size(), 2 * (sent / faults.size()));
  for (const json& one : refused["refused"]) EXPECT_LT(one.value("project", 0), 2) << one.dump();
  ExpectTotalsOf(2);
  ExpectTotalsOf(3);
  EXPECT_EQ(Run({"audit", "--data", "data"}).code, 0);
}

// The first block of the file, its catalogue, puts the project into debt; the next block waits about a second.
TEST_F(Isolation, IngestWaitsForTheQuotaAndIngestsEachLineOnce) {
  const auto lines = Traffic(1, 400);
  const auto served = Serve("quota: {events_per_second: 5, burst: 1 s}\n");
  const Finished ingested = Run({"ingest", "project1.jsonl", "--config", "config.yaml", "--json"});
  EXPECT_EQ(ingested.code, 0) << ingested.err;
  EXPECT_THAT(ingested.err,
              HasSubstr("project 1 is beyond its quota of 5 events per second; ingest continues at the "
                        "speed of the quota"));
  EXPECT_EQ(json::parse(ingested.out)["events"], lines.size());
  const std::string scrape = served->Get("/api/v1/metrics", kReadToken).body;
  EXPECT_GE(Sample(scrape, R"(cobblestone_project_throttled_total{project="1"})"), 1);
  EXPECT_EQ(Sample(scrape, R"(cobblestone_project_events_total{project="1"})"),
            static_cast<double>(lines.size()));
  Stop(*served);
  ExpectTotalsOf(1);
}

// The first block has 200 lines of the catalogue, so the wait after it takes 199 s, unless it is interrupted.
TEST_F(Isolation, AFollowedFileIsLeftInAWaitAndContinuedExactlyOnce) {
  const auto lines = Traffic(1, 400, 300);
  auto served = Serve("quota: {events_per_second: 1, burst: 1 s}\n");
  {
    Background feed(dir_.path(), {"ingest", "project1.jsonl", "--follow", "--config", "config.yaml"});
    ASSERT_TRUE(feed.WaitFor("is beyond its quota of 1 events per second")) << feed.err();
    feed.Signal(SIGTERM);
    EXPECT_EQ(feed.Wait(), 0) << feed.err();
    EXPECT_THAT(feed.err(), Not(HasSubstr("cobblestone:")));
  }
  Stop(*served);
  served = Serve("");
  Background feed(dir_.path(), {"ingest", "project1.jsonl", "--follow", "--config", "config.yaml"});
  const std::string all = R"(cobblestone_project_events_total{project="1"})";
  const Reply scrape = served->GetUntil(
      "/api/v1/metrics",
      [&](const Reply& reply) { return Sample(reply.body, all) == static_cast<double>(lines.size() - 200); },
      kReadToken);
  EXPECT_EQ(Sample(scrape.body, all), static_cast<double>(lines.size() - 200));
  feed.Signal(SIGTERM);
  EXPECT_EQ(feed.Wait(), 0) << feed.err();
  Stop(*served);
  ExpectTotalsOf(1);
}

// A batch with lines of two projects is charged to both, and is refused whole if one of them is beyond its quota.
TEST_F(Isolation, ABatchOfTwoProjectsIsChargedByProject) {
  std::ofstream(dir_ / "tokens", std::ios::app) << "ingest 1,2 all " << TokenOf(12) << "\n";
  const auto served = Serve(
      "quota: {burst: 1 s}\n"
      "projects: [{id: 1, name: one, events_per_second: 1}, {id: 2, name: two, events_per_second: 1000000}]\n");
  const auto user = [](int project, int id) {
    return R"({"id":)" + std::to_string(id) + R"(,"project":)" + std::to_string(project) +
           R"(,"user":{"user":)" + std::to_string(id) + "}}\n";
  };
  std::string many;
  for (int id = 1; id <= 1000; ++id) many += user(1, id);
  const std::string path = "/api/v1/events?source=both";
  EXPECT_EQ(served->Post(path, many, TokenOf(12)).status, 200);  // 999 s of debt
  const Reply refused = served->Post(path + "&first_line=1000", user(2, 1) + user(1, 1001), TokenOf(12));
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_EQ(refused.json()["project"], 1);
  EXPECT_EQ(served->Get(path, TokenOf(12)).json()["data"]["lines"], 1000);
  // The same lines again add nothing, so they cost nothing.
  EXPECT_EQ(served->Post(path, many, TokenOf(12)).json()["data"]["repeated"], 1000);
  EXPECT_EQ(served->Post(path + "&first_line=1000", user(2, 1), TokenOf(12)).status, 200);
  // A token whose only project waits is refused before its body is looked at; this body is of an unknown type.
  EXPECT_EQ(served->Post("/api/v1/events?source=one", "?", TokenOf(1), "text/plain").status, 429);
  EXPECT_EQ(served->Post(path, "?", TokenOf(12), "text/plain").status, 415);
  Stop(*served);
}

}  // namespace
}  // namespace cobblestone::testing
