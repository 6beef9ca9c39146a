#include "tests/robustness/traffic.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>

#include "common/stream/record.h"
#include "common/wire/event_codec.h"
#include "common/wire/topics.h"
#include "tests/support/oracle.h"

namespace cobblestone::testing {
namespace {

// The grants as the log holds them.
Outcome OutcomeOf(Engine& engine) {
  Outcome outcome;
  for (std::uint32_t p = 0; p < engine.pipeline().partitions; ++p) {
    const Status status =
        engine.ForEachRecord({wire::kGrants, p}, [&](std::uint64_t, std::string_view record) {
          EXPECT_TRUE(AddLedgerRecord(record, &outcome));
          return true;
        });
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return outcome;
}

// Without the accounts that only the oracle knows of.
Outcome GrantsOf(const Outcome& outcome) {
  Outcome grants;
  grants.grants = outcome.grants;
  for (auto& [key, grant] : grants.grants) grant.to_host = grant.to_user = grant.to_team = 0;
  return grants;
}

}  // namespace

GenerateOptions TrafficOptions(std::uint64_t seed, std::uint64_t results) {
  GenerateOptions options;
  options.seed = seed;
  options.results = results;
  options.hosts = 200;
  options.apps = 4;
  options.policies = {"benchmark", "reported-flops", "assigned", "creditnew"};
  options.duplicates = 0.05;
  options.bad_lines = 0.01;
  options.lost = 0.002;
  return options;
}

std::vector<Event> Traffic(const GenerateOptions& options) {
  std::vector<Event> events;
  Generator generator(options);
  for (std::string envelope; generator.Next(&envelope);) {
    const auto routing = wire::PeekRouting(envelope);
    events.push_back({envelope, routing && routing->key == wire::KeyKind::kBroadcast});
  }
  return events;
}

std::vector<Event> Traffic(std::uint64_t seed, std::uint64_t results) {
  return Traffic(TrafficOptions(seed, results));
}

void WriteTraffic(const std::vector<Event>& events, const std::string& path) {
  std::string bytes;
  for (const Event& event : events) stream::AppendRecord(bytes, event.envelope);  // a varint and the bytes
  std::ofstream(path, std::ios::binary) << bytes;
}

settings::RunSettings BusySettings(const std::string& directory) {
  settings::RunSettings settings;
  settings.data_directory = directory;
  settings.partitions = 4;
  settings.threads = 2;
  settings.commit.interval = std::chrono::milliseconds(1);
  settings.commit.max_records = 200;                              // many commits
  settings.state.flush_interval = std::chrono::milliseconds(30);  // many state writes
  settings.checkpoint.interval = std::chrono::milliseconds(100);
  return settings;
}

Status Ingest(Engine& engine, const std::vector<Event>& events) {
  std::uint64_t at = engine.Producer("traffic").lines;
  while (at < events.size()) {
    AppendBlock block{.source = "traffic", .first_line = at, .barrier = events[at].broadcast};
    while (at < events.size() && block.lines.size() < 300 && events[at].broadcast == block.barrier) {
      // What cannot be decoded at all is a bad line of the source.
      block.lines.push_back({.envelope = events[at].envelope});
      ++at;
    }
    auto outcome = engine.Append(block);
    if (!outcome.ok()) return outcome.status();
  }
  engine.WaitIdle();
  return engine.failure();
}

void ExpectLikeTheOracle(Engine& engine, const std::vector<Event>& events, bool owners_change) {
  std::vector<std::string> envelopes;
  envelopes.reserve(events.size());
  for (const Event& event : events) envelopes.push_back(event.envelope);
  const Outcome expected = RunOracle(envelopes);
  ASSERT_FALSE(expected.grants.empty()) << "the story would prove nothing";
  Outcome actual = OutcomeOf(engine);
  EXPECT_TRUE(actual.granted_twice.empty());
  Outcome grants = GrantsOf(expected);
  if (owners_change)
    for (Outcome* outcome : {&grants, &actual})
      for (auto& [key, grant] : outcome->grants) grant.user = 0;
  EXPECT_EQ(GrantDifferences(grants, actual), "");
  // Totals: what the oracle posted, asked of the engine as a user would.
  std::map<AccountKey, BigMicro> totals;
  for (const auto& [key, grant] : expected.grants) {
    const auto got = actual.grants.find(key);
    if (got == actual.grants.end()) continue;
    const BigMicro micro = grant.priced ? grant.micro : got->second.micro;
    if (grant.to_host != 0) totals[{key.project, OracleAccountKind::kHost, grant.to_host}] += micro;
    if (owners_change) continue;
    if (grant.to_user != 0) totals[{key.project, OracleAccountKind::kUser, grant.to_user}] += micro;
    if (grant.to_team != 0) totals[{key.project, OracleAccountKind::kTeam, grant.to_team}] += micro;
  }
  for (const auto& [key, micro] : totals) {
    const auto kind = key.kind == OracleAccountKind::kHost   ? wire::AccountKind::kHost
                      : key.kind == OracleAccountKind::kUser ? wire::AccountKind::kUser
                                                             : wire::AccountKind::kTeam;
    const auto account = engine.Account(ProjectId(key.project), kind, key.account);
    ASSERT_TRUE(account.ok()) << account.status().message();
    char text[64];
    std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(micro / 1000000),
                  static_cast<long long>(micro % 1000000));
    EXPECT_EQ((*account)["total"].get<std::string>(), text) << (*account)["kind"] << " " << key.account;
  }
  EXPECT_GT(totals.size(), owners_change ? 100u : 300u);
  const auto audit = engine.Audit({});
  ASSERT_TRUE(audit.ok()) << audit.status().message();
  EXPECT_EQ((*audit)["problem_count"], 0) << audit->dump(1);
  EXPECT_EQ((*audit)["grants"], expected.grants.size());
}

}  // namespace cobblestone::testing
