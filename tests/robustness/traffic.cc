#include "tests/robustness/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "common/stream/hash128.h"
#include "common/stream/record.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "tests/support/estimate_events.h"
#include "tests/support/heirs.h"
#include "tests/support/job_events.h"
#include "tests/support/oracle.h"
#include "tests/support/trickle_traffic.h"

namespace cobblestone::testing {

using embedded::Engine;
using intake::AppendBlock;
using traffic::GenerateOptions;
using traffic::Generator;

namespace {

// The grants in the ledger.
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

// The grants, without the accounts that only the oracle knows.
Outcome GrantsOf(const Outcome& outcome) {
  Outcome grants;
  grants.grants = outcome.grants;
  for (auto& [key, grant] : grants.grants) grant.to_host = grant.to_user = grant.to_team = 0;
  return grants;
}

std::string TextOf(BigMicro micro) {
  char text[64];
  std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(micro / 1000000),
                static_cast<long long>(micro % 1000000));
  return text;
}

wire::AccountKind KindOf(const AccountKey& key) {
  switch (key.kind) {
    case OracleAccountKind::kHost: return wire::AccountKind::kHost;
    case OracleAccountKind::kUser: return wire::AccountKind::kUser;
    default: return wire::AccountKind::kTeam;
  }
}

std::string NameOf(const AccountKey& key) {
  const char* kind = key.kind == OracleAccountKind::kHost   ? "host "
                     : key.kind == OracleAccountKind::kUser ? "user "
                                                            : "team ";
  return kind + std::to_string(key.account);
}

// Asks the engine as a user would.
nlohmann::json AccountOf(Engine& engine, const AccountKey& key) {
  auto account = engine.questions().Account(ProjectId(key.project), KindOf(key), key.account);
  EXPECT_TRUE(account.ok()) << NameOf(key) << ": " << account.status().message();
  return account.ok() ? *account : nlohmann::json::object();
}

Outcome OracleOf(const std::vector<Event>& events) {
  std::vector<std::string> envelopes;
  envelopes.reserve(events.size());
  for (const Event& event : events) envelopes.push_back(event.envelope);
  return RunOracle(envelopes);
}

nlohmann::json CleanAuditOf(Engine& engine) {
  const auto audit = engine.Audit({});
  EXPECT_TRUE(audit.ok()) << audit.status().message();
  if (!audit.ok()) return {};
  EXPECT_EQ((*audit)["problem_count"], 0) << audit->dump(1);
  return *audit;
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

GenerateOptions RestlessOptions(std::uint64_t seed, std::uint64_t results) {
  GenerateOptions options;
  options.seed = seed;
  options.results = results;
  options.hosts = 40;
  options.users = 12;
  options.apps = 6;
  options.versions = 4;
  options.policies = {"creditnew", "boinc", "creditnew-v2", "runtime", "assigned", "robust"};
  options.ownerless_hosts = 0.1;
  options.late = 0.08;
  options.out_of_order = 0.2;
  options.duplicates = 0.05;
  options.conflicts = 0.03;
  options.bad_lines = 0.03;
  options.lost = 0.02;
  options.dispatches = true;
  options.trickles = 2;
  options.bad_trickles = 0.3;
  options.team_changes = 1;
  options.owner_changes = 0.7;
  options.span = 0.4 * 86400;
  options.delay_bound = 3000;
  options.result_window = 9000;
  return options;
}

std::vector<Event> RestlessTraffic(const GenerateOptions& options) {
  std::vector<Event> events;
  for (const Event& event : Traffic(options)) {
    std::vector<std::string> envelopes;
    AppendContested(event.envelope, options.hosts, &envelopes);
    for (std::string& envelope : envelopes) events.push_back({std::move(envelope), event.broadcast});
  }
  const double start = options.start_time;
  // Users 4, 8 and 12 are removed: 4 and 8 are sent in the middle, 12 never. Opening balances of hosts are
  // spread over the traffic.
  std::vector<Event> named;
  std::erase_if(events, [&](const Event& event) {
    const auto routing = wire::PeekRouting(event.envelope);
    if (!routing || routing->kind != wire::EventKind::kUser || routing->id % 4 != 0) return false;
    if (routing->id != 12) named.push_back(event);
    return true;
  });
  const auto put = [&](std::size_t part, const Event& event) {
    events.insert(events.begin() + static_cast<std::ptrdiff_t>(events.size() * part / 16), event);
  };
  for (std::size_t i = 0; i < named.size(); ++i) put(6 + i % 5, named[i]);
  for (std::uint64_t host = 1; host <= 6; ++host)
    put(5 + host,
        {wire::EncodeEvent({.head = {.id = 900 + host, .project = ProjectId(1), .time = start + 5000},
                            .body = wire::OpeningTotal{.kind = wire::AccountKind::kHost,
                                                       .account = host,
                                                       .total = 100.0 + static_cast<double>(host) / 3,
                                                       .rac = 1.0 / static_cast<double>(host),
                                                       .rac_time = start - 86400}}),
         false});
  // From some point on, hosts 7 to 11 belong to user 1. Then 7 merges into 8, 9 into 10 and 10 into 8.
  // Another merge of 9, and one of 8 that would close a cycle, are refused. 11 merges into a host that never
  // has credit, once an event has named that host. User 5 leaves and comes back. The project gets a name.
  std::set<std::uint64_t> seen;
  std::erase_if(events, [&](const Event& event) {
    const auto routing = wire::PeekRouting(event.envelope);
    return routing && routing->kind == wire::EventKind::kHost && routing->id >= 7 && routing->id <= 11 &&
           !seen.insert(routing->id).second;
  });
  std::uint64_t id = 2000;
  const auto add = [&](std::size_t part, wire::EventBody body) {
    const bool broadcast = std::holds_alternative<wire::ProjectName>(body);
    // Dated like the last validation before it: with a later time, many of the following events would be too
    // late.
    std::size_t at = events.size() * part / 16;
    while (at > 0 && wire::PeekKind(events[at].envelope) != wire::EventKind::kValidation) --at;
    const double time =
        std::clamp(wire::PeekEventTime(events[at].envelope).value_or(0), start, start + options.span);
    put(part, {wire::EncodeEvent(
                   {.head = {.id = ++id, .project = ProjectId(1), .time = time}, .body = std::move(body)}),
               broadcast});
  };
  const auto merge = [&](std::size_t part, std::uint64_t host, std::uint64_t into) {
    add(part, wire::HostMerge{.host = HostId(host), .into = HostId(into)});
  };
  const auto give_to_user_1 = [&](std::size_t part, std::uint64_t host) {
    add(part, wire::HostMember{
                  .host = HostId(host), .user = UserId(1), .whetstone = 1e9, .dhrystone = 2e9, .cpus = 4});
  };
  for (std::uint64_t host = 7; host <= 11; ++host) give_to_user_1(7, host);
  add(8, wire::UserMember{.user = UserId(5), .deleted = true});
  add(9, wire::ProjectName{.name = "Restless"});
  merge(10, 7, 8);
  merge(10, 11, options.hosts + 1000);
  merge(11, 9, 10);
  merge(12, 10, 8);
  add(12, wire::UserMember{.user = UserId(5), .team = TeamId(1), .name = "back"});
  give_to_user_1(12, options.hosts + 1000);
  merge(13, 9, 7);
  merge(14, 8, 9);
  // Reports of account managers are mixed in throughout.
  std::vector<Event> all;
  const auto reports = EstimateEvents({.seed = options.seed,
                                       .start = start,
                                       .span = options.span,
                                       .machines = 30,
                                       .hosts = options.hosts,
                                       .users = options.users});
  struct Put {
    std::vector<Event>& to;
    void operator()(const Event& event) const { to.push_back(event); }
    void operator()(const std::string& report) const { to.push_back({report, false}); }
  };
  MixIn(
      events, reports, [](const Event& event) -> std::string_view { return event.envelope; }, Put{all});
  // Events about jobs that were sent before a merge use either number of the merged host.
  HeirNames rename(options.seed, HeirNames::Of::kJobsSent);
  for (Event& event : all) event.envelope = rename(event.envelope);
  EXPECT_GT(rename.renamed(), 0u) << "no job was open on a host that merged";
  return all;
}

std::vector<Event> TrickleTrafficOf(std::uint64_t seed, std::uint64_t results) {
  GenerateOptions options = Trickling(seed);
  options.results = results;
  // Policies without a history, and so few results of each version that none has enough samples for a scale;
  // otherwise a price would depend on its time.
  options.policies = {"benchmark", "assigned", "none", "reported-flops"};
  options.hosts = results / 12;
  options.versions = 1 + results / options.apps / 30;
  TrickleTraffic traffic = UnorderedTrickles(options);
  DropMessagesAfterTheEnd(traffic);
  std::vector<std::pair<double, std::string>> mixed;
  for (Events* part : {&traffic.running, &traffic.results})
    for (std::string& envelope : *part)
      mixed.emplace_back(wire::PeekEventTime(envelope).value_or(0), std::move(envelope));
  std::stable_sort(mixed.begin(), mixed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Event> events;
  const auto put = [&](std::string envelope) {
    const auto routing = wire::PeekRouting(envelope);
    const bool broadcast = routing && routing->key == wire::KeyKind::kBroadcast;
    events.push_back({std::move(envelope), broadcast});
  };
  for (std::string& envelope : traffic.members) put(std::move(envelope));
  for (auto& [time, envelope] : mixed) put(std::move(envelope));
  return events;
}

void WriteTraffic(const std::vector<Event>& events, const std::string& path) {
  std::string bytes;
  for (const Event& event : events)
    stream::AppendRecord(bytes, event.envelope);  // a varint length and the bytes
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
      // An event that cannot be decoded at all is a bad line of the source.
      block.lines.push_back({.envelope = events[at].envelope});
      ++at;
    }
    auto outcome = engine.Append(block);
    if (!outcome.ok()) return outcome.status();
  }
  engine.WaitIdle();
  return engine.failure();
}

std::string OutcomeHash(Engine& engine, const std::string& name) {
  std::vector<std::string> awards;
  std::map<std::tuple<std::uint32_t, wire::AccountKind, std::uint64_t>, std::string> totals;
  for (std::uint32_t p = 0; p < engine.pipeline().partitions; ++p) {
    Status s = engine.ForEachRecord({wire::kGrants, p}, [&](std::uint64_t, std::string_view record) {
      wire::GrantHead head;
      EXPECT_TRUE(wire::DecodeGrantHead(record, &head));
      if (wire::IsAward(head.kind) || head.kind == wire::GrantKind::kOpening ||
          head.kind == wire::GrantKind::kEstimate)
        awards.emplace_back(record);
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.message();
    decltype(totals) last;
    s = engine.ForEachRecord({wire::kTotals, p}, [&](std::uint64_t, std::string_view record) {
      wire::Total total;
      EXPECT_TRUE(wire::DecodeTotal(record, &total));
      last[{total.project.value, total.kind, total.account}] = total.elsewhere ? "" : record;
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.message();
    for (auto& [account, record] : last)
      if (!record.empty()) {
        EXPECT_TRUE(totals.emplace(account, record).second) << std::get<2>(account) << " is in two places";
      }
  }
  std::sort(awards.begin(), awards.end());
  stream::Hasher hasher;
  for (const std::string& award : awards) hasher.Bytes(award);
  for (const auto& [account, record] : totals) hasher.Bytes(record);
  const stream::Hash128 hash = hasher.Digest();
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  std::printf("%-40s %zu awards, %zu accounts, hash %s\n", name.c_str(), awards.size(), totals.size(), text);
  return text;
}

void ExpectLikeTheOracle(Engine& engine, const std::vector<Event>& events, bool owners_change) {
  const Outcome expected = OracleOf(events);
  ASSERT_FALSE(expected.grants.empty()) << "the traffic gives no grant, so the test proves nothing";
  Outcome actual = OutcomeOf(engine);
  EXPECT_TRUE(actual.granted_twice.empty());
  Outcome grants = GrantsOf(expected);
  if (owners_change)
    for (Outcome* outcome : {&grants, &actual})
      for (auto& [key, grant] : outcome->grants) grant.user = 0;
  EXPECT_EQ(GrantDifferences(grants, actual), "");
  // Compares the totals that the oracle posted with the engine's answers to a user.
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
  for (const auto& [key, micro] : totals)
    EXPECT_EQ(AccountOf(engine, key)["total"], TextOf(micro)) << NameOf(key);
  EXPECT_GT(totals.size(), owners_change ? 100u : 300u);
  EXPECT_EQ(CleanAuditOf(engine)["grants"], expected.grants.size());
}

namespace {

// Total earnings by result, however grants, trickles, settlements and corrections share them.
std::map<ResultKey, BigMicro> EarnedBy(const Outcome& outcome) {
  std::map<ResultKey, BigMicro> earned;
  for (const auto& [key, grant] : outcome.grants) earned[key] += grant.micro;
  for (const auto& [key, partial] : outcome.partials) earned[key.first] += partial.paid - partial.reversed;
  for (const auto& [key, correction] : outcome.corrections) earned[key.first] += correction.micro;
  return earned;
}

// The results whose earnings differ from the oracle's, with their ledger records and refusals.
std::string ResultsThatDiffer(Engine& engine, const Outcome& expected) {
  constexpr std::size_t kMax = 5;
  auto wanted = EarnedBy(expected);
  const auto got = EarnedBy(OutcomeOf(engine));
  for (const auto& [key, micro] : got)
    wanted.try_emplace(key, 0);                 // results that earned, but should not have
  std::map<std::uint64_t, std::string> differ;  // by result
  for (const auto& [key, micro] : wanted) {
    const auto found = got.find(key);
    const BigMicro other = found == got.end() ? 0 : found->second;
    if (other != micro && differ.size() < kMax)
      differ[key.result] = "result " + std::to_string(key.result) + ": " + TextOf(other) + " instead of " +
                           TextOf(micro) + "\n";
  }
  const auto append_lines = [&](wire::Topic topic, auto&& result_and_text) {
    const std::uint32_t partitions = topic == wire::kRefused ? 1 : engine.pipeline().partitions;
    for (std::uint32_t p = 0; p < partitions; ++p) {
      const Status status = engine.ForEachRecord({topic, p}, [&](std::uint64_t, std::string_view record) {
        const auto [result, text] = result_and_text(record);
        const auto found = differ.find(result);
        if (found != differ.end()) found->second += "  " + text + "\n";
        return true;
      });
      EXPECT_TRUE(status.ok()) << status.message();
    }
  };
  append_lines(wire::kGrants, [](std::string_view record) {
    wire::GrantHead head;
    EXPECT_TRUE(wire::DecodeGrantHead(record, &head));
    return std::pair{head.result.value, DescribeLedgerRecord(record)};
  });
  append_lines(wire::kRefused, [](std::string_view record) {
    const auto [event, text] = DescribeRefusal(record);
    return std::pair{event / kEventsOfResult, text};
  });
  std::string text;
  for (const auto& [result, lines] : differ) text += lines;
  return text;
}

}  // namespace

void ExpectAccountsLikeTheOracle(Engine& engine, const std::vector<Event>& events) {
  const Outcome expected = OracleOf(events);
  EXPECT_EQ(ResultsThatDiffer(engine, expected), "");
  EXPECT_TRUE(OutcomeOf(engine).corrections == expected.corrections);
  EXPECT_GT(expected.partials.size(), 500u) << "too few trickle payments to prove much";
  for (const auto& [key, sums] : expected.accounts) {
    const nlohmann::json account = AccountOf(engine, key);
    EXPECT_EQ(account["total"], TextOf(sums.micro)) << NameOf(key);
    EXPECT_EQ(account["provisional"], TextOf(sums.provisional)) << NameOf(key);
  }
  static_cast<void>(CleanAuditOf(engine));
}

}  // namespace cobblestone::testing
