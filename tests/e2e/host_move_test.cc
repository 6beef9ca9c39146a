// A host changes its owner: its only account moves along, earlier credit of users and teams stays, whatever the order
// of processing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/embedded/engine.h"
#include "services/replay/replay.h"
#include "services/traffic/generate.h"
#include "tests/support/control_totals_of.h"
#include "tests/support/free_world.h"
#include "tests/support/job_events.h"
#include "tests/support/oracle.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {

using embedded::Engine;
using intake::AppendBlock;
using pipeline::PipelineSlot;
using replay::LockstepPipeline;
using traffic::GenerateOptions;
using traffic::Generator;

namespace {

using Events = std::vector<std::string>;
using Id = std::pair<std::uint32_t, std::uint64_t>;  // project, id

struct Sum {
  BigMicro micro = 0;
  std::uint64_t grants = 0;
  friend bool operator==(const Sum&, const Sum&) = default;
};

// Hosts that move continuously, also from and to no owner.
GenerateOptions Restless(std::uint64_t seed) {
  GenerateOptions options;
  options.seed = seed;
  options.results = 1500;
  options.hosts = 20;
  options.users = 6;
  options.policies = {"runtime", "assigned"};
  options.apps = 2;
  options.ownerless_hosts = 0.1;
  options.late = 0.1;
  options.out_of_order = 0.2;
  options.owner_changes = 1;
  options.tick_period = 1800;
  return options;
}

Events Generate(const GenerateOptions& options) {
  Generator generator(options);
  Events events;
  for (std::string envelope; generator.Next(&envelope);) events.push_back(envelope);
  return events;
}

bool IsResult(const std::string& event) {
  const auto kind = wire::PeekKind(event);
  return kind == wire::EventKind::kCompletion || kind == wire::EventKind::kValidation;
}

struct Sums {
  std::map<Id, Sum> hosts;
  std::map<Id, Sum> users;
};

// The sums of the ledger's grants and openings.
Sums SumsOf(const Events& ledger) {
  Sums sums;
  for (const std::string& record : ledger) {
    wire::GrantHead head;
    EXPECT_TRUE(wire::DecodeGrantHead(record, &head));
    if (wire::IsHostMove(head.kind)) continue;
    const std::uint64_t one = head.kind == wire::GrantKind::kFinal ? 1 : 0;
    const auto add = [&](Sum& sum) {
      sum.micro += head.credit_micro;
      sum.grants += one;
    };
    if (head.host) add(sums.hosts[{head.project.value, head.host.value}]);
    if (head.user && (one != 0 || !head.host)) add(sums.users[{head.project.value, head.user.value}]);
  }
  return sums;
}

// The sums of the accounts; each host must be in one partition only.
Sums AccountsOf(FreeWorld& world) {
  Sums sums;
  for (PipelineSlot& slot : world.slots()) {
    if (slot.stages.accounts == nullptr) continue;
    slot.stages.accounts->hosts().ForEach([&](const stream::Key& key, const accounts::HostAccount& host) {
      if (host.account.grants == 0 && host.account.total_micro == 0) return;
      EXPECT_TRUE(
          sums.hosts.emplace(Id{key.project, key.id}, Sum{host.account.total_micro, host.account.grants})
              .second)
          << "host " << key.id << " has two accounts";
      Sum apps;
      for (const credit::AppSum& app : host.account.apps) {
        apps.micro += app.micro;
        apps.grants += app.grants;
      }
      EXPECT_TRUE((apps == Sum{host.account.total_micro - host.account.opening_micro, host.account.grants}));
      Sum days;
      for (const credit::DaySum& day : slot.stages.accounts->Whole(key, host).account.days) {
        days.micro += day.micro;
        days.grants += day.grants;
      }
      EXPECT_TRUE(days == apps);
    });
    slot.stages.accounts->users().ForEach([&](const stream::Key& key, const accounts::UserState& user) {
      if (user.account.grants == 0 && user.account.total_micro == 0) return;
      sums.users[{key.project, key.id}] = {user.account.total_micro, user.account.grants};
    });
  }
  return sums;
}

std::string Text(const std::map<Id, Sum>& sums) {
  std::string text;
  for (const auto& [id, sum] : sums)
    if (sum.micro != 0 || sum.grants != 0)
      text += std::to_string(id.second) + ": " + std::to_string(static_cast<long long>(sum.micro)) + " in " +
              std::to_string(sum.grants) + "\n";
  return text;
}

std::size_t CountKind(const Events& ledger, wire::GrantKind kind) {
  std::size_t n = 0;
  for (const std::string& record : ledger) {
    wire::GrantHead head;
    if (wire::DecodeGrantHead(record, &head) && head.kind == kind) ++n;
  }
  return n;
}

TEST(HostMove, AHostHasOneAccountWithAllItsCreditInAnyOrder) {
  std::size_t shares = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Events events = Generate(Restless(seed));
    const auto first = std::find_if(events.begin(), events.end(), IsResult);
    FreeWorld world(seed % 3 == 0 ? 2 : 5, seed);
    for (auto event = events.begin(); event != first; ++event) world.Add(*event);
    world.RunUntilIdle();
    for (std::uint64_t host = 1; host <= 5; ++host)
      world.Add(wire::EncodeEvent(
          {.head = {.id = 5000 + host, .project = ProjectId(1), .time = 1.7e9},
           .body = wire::OpeningTotal{.kind = wire::AccountKind::kHost, .account = host, .total = 1000.0}}));
    std::mt19937_64 random(seed);
    for (auto event = first; event != events.end(); ++event) {
      world.Add(*event);
      if (random() % 8 == 0) world.Step();
    }
    world.RunUntilIdle();
    const Sums ledger = SumsOf(world.ledger());
    const Sums accounts = AccountsOf(world);
    ASSERT_EQ(Text(ledger.hosts), Text(accounts.hosts)) << "seed " << seed;
    ASSERT_EQ(Text(ledger.users), Text(accounts.users)) << "seed " << seed;
    shares += CountKind(world.ledger(), wire::GrantKind::kHostShare);
    ASSERT_EQ(CountKind(world.ledger(), wire::GrantKind::kHostLeaves),
              CountKind(world.ledger(), wire::GrantKind::kHostAccount));
    ASSERT_GT(CountKind(world.ledger(), wire::GrantKind::kHostLeaves), 3u);
  }
  EXPECT_GT(shares, 100u) << "no credit arrived after its host had moved, so the test proves nothing";
}

// Readers of the topic of totals keep the newest record of each partition and account.
TEST(HostMove, TheTopicOfTotalsHasOneRowForEachHost) {
  const Events events = Generate(Restless(3));
  FreeWorld world(5, 3);
  for (std::size_t i = 0; i < events.size(); ++i) {
    world.Add(events[i]);
    if (!IsResult(events[i])) world.RunUntilIdle();
  }
  world.RunUntilIdle();
  std::map<Id, std::size_t> rows;
  for (const Events& partition : world.totals()) {
    std::map<Id, wire::Total> newest;
    for (const std::string& record : partition) {
      wire::Total total;
      ASSERT_TRUE(wire::DecodeTotal(record, &total));
      if (total.kind == wire::AccountKind::kHost) newest[{total.project.value, total.account}] = total;
    }
    for (const auto& [id, total] : newest)
      if (!total.elsewhere) ++rows[id];
  }
  EXPECT_GT(rows.size(), 15u);
  for (const auto& [id, count] : rows) EXPECT_EQ(count, 1u) << "host " << id.second;
}

// ---- In a replay -------------------------------------------------------------------------------------------

std::vector<std::string> StateOut(const Events& events, std::uint32_t partitions) {
  LockstepPipeline pipeline(partitions, {});
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_TRUE(pipeline.Feed(events[i], i, false).ok());
  EXPECT_TRUE(pipeline.Finish().ok());
  std::vector<std::string> rows;
  EXPECT_TRUE(pipeline
                  .WriteState([&](const std::string& row) {
                    rows.push_back(row);
                    return Status::Ok();
                  })
                  .ok());
  return rows;
}

TEST(HostMove, AReplayGivesTheSameBitsForAnyNumberOfPartitions) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    GenerateOptions options = Restless(seed);
    options.policies = {"boinc", "creditnew"};
    const Events events = Generate(options);
    const auto one = StateOut(events, 1);
    ASSERT_GT(one.size(), 30u);
    EXPECT_EQ(one, StateOut(events, 3));
    EXPECT_EQ(one, StateOut(events, 8));
  }
}

// ---- The program's engine ----------------------------------------------------------------------------------

TEST(HostMove, TheEngineAnswersWithOneAccountAndTheAuditIsExact) {
  TempDir temp;
  settings::RunSettings settings;
  settings.data_directory = temp / "data";
  settings.partitions = 5;
  settings.threads = 2;
  settings.commit.max_records = 50;
  settings.state.flush_interval = std::chrono::milliseconds(30);
  GenerateOptions options = Restless(4);
  options.tick_period = 0;  // each tick is a separate block with a synced write
  const Events events = Generate(options);
  Events ledger;
  std::map<std::uint64_t, std::uint64_t> seen;  // grants, by host
  const auto check = [&](Engine& engine) {
    const auto audit = engine.Audit({});
    ASSERT_TRUE(audit.ok()) << audit.status().message();
    EXPECT_EQ((*audit)["problem_count"], 0) << audit->dump(1);
    EXPECT_GT((*audit)["host_moves"], 5);
    const auto totals = ControlTotalsOf(engine, ProjectId(1), false);
    EXPECT_TRUE(totals.ok()) << totals.status().message();
    for (const auto& [id, sum] : SumsOf(ledger).hosts) {
      const auto account = engine.questions().Account(ProjectId(1), wire::AccountKind::kHost, id.second);
      ASSERT_TRUE(account.ok());
      char total[64];
      std::snprintf(total, sizeof total, "%lld.%06lld", static_cast<long long>(sum.micro / 1000000),
                    static_cast<long long>(sum.micro % 1000000));
      EXPECT_EQ((*account)["total"], total) << "host " << id.second;
      EXPECT_EQ((*account)["grants"], sum.grants);
    }
  };
  {
    auto engine = Engine::Open(settings, [](const std::string&) {});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    (*engine)->Start();
    for (std::size_t at = 0; at < events.size();) {
      const auto is_broadcast = [&](std::size_t i) {
        return wire::PeekRouting(events[i])->key == wire::KeyKind::kBroadcast;
      };
      AppendBlock block{.source = "moves", .first_line = at, .barrier = is_broadcast(at)};
      for (; at < events.size() && block.lines.size() < 60 && is_broadcast(at) == block.barrier; ++at)
        block.lines.push_back({.envelope = events[at]});
      const auto appended = (*engine)->Append(block);
      ASSERT_TRUE(appended.ok()) << appended.status().message();
      // During processing no answer may fall behind an earlier one.
      for (std::uint64_t host = 1; host <= 6; ++host) {
        const auto account = (*engine)->questions().Account(ProjectId(1), wire::AccountKind::kHost, host);
        if (!account.ok()) continue;  // still unknown
        EXPECT_GE((*account)["grants"].get<std::uint64_t>(), seen[host]) << "host " << host;
        seen[host] = (*account)["grants"];
      }
    }
    (*engine)->WaitIdle();
    ASSERT_TRUE((*engine)->failure().ok());
    for (std::uint32_t p = 0; p < settings.partitions; ++p)
      ASSERT_TRUE((*engine)
                      ->ForEachRecord({wire::kGrants, p},
                                      [&](std::uint64_t, std::string_view record) {
                                        ledger.emplace_back(record);
                                        return true;
                                      })
                      .ok());
    ASSERT_GT(CountKind(ledger, wire::GrantKind::kHostAccount), 5u);
    check(**engine);
    ASSERT_TRUE((*engine)->Stop().ok());
  }
  // From the state on disk.
  auto engine = Engine::Open(settings, [](const std::string&) {});
  ASSERT_TRUE(engine.ok());
  check(**engine);
  // A share is not a second grant of its result.
  for (const std::string& record : ledger) {
    wire::GrantHead head;
    ASSERT_TRUE(wire::DecodeGrantHead(record, &head));
    if (head.kind != wire::GrantKind::kHostShare) continue;
    const auto explained = (*engine)->questions().Explain(head.project, head.result);
    ASSERT_TRUE(explained.ok());
    EXPECT_EQ((*explained)["grants"].size(), 1u);
  }
}

// A power cut between the two partitions through which a host's account moves.
TEST(HostMove, AnAccountOnItsWayIsReportedUntilThePipelineRuns) {
  TempDir temp;
  settings::RunSettings settings;
  settings.data_directory = temp / "data";
  settings.partitions = 3;
  settings.threads = 2;
  const ProjectId project(1);
  const UserId old_owner(1);
  const auto partition_of = [&](UserId user, HostId host) {
    return wire::OwnerPartition(project, user, host, settings.partitions);
  };
  // CLAIMS of the host is in another partition than its new owner.
  HostId host(1);
  while (wire::PartitionOf(project, host.value, settings.partitions) != partition_of(old_owner, host))
    host = HostId(host.value + 1);
  UserId new_owner(2);
  while (partition_of(new_owner, host) == partition_of(old_owner, host))
    new_owner = UserId(new_owner.value + 1);
  const std::uint32_t place = partition_of(new_owner, host);

  auto engine = Engine::Open(settings, [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  (*engine)->Start();
  std::uint64_t id = 0;
  const auto envelope = [&](wire::EventBody body) {
    return wire::EncodeEvent(
        {.head = {.id = ++id, .project = project, .time = 1.7e9}, .body = std::move(body)});
  };
  for (const std::string& event :
       {envelope(wire::AppChange{.app = AppId(1), .policy = "assigned"}),
        envelope(wire::UserMember{.user = old_owner}),
        envelope(wire::HostMember{.host = host, .user = old_owner}),
        envelope(CompletionOf(500, host.value, 50, 1.7e9)), envelope(ValidationOf(500, host.value, 50, 7))}) {
    AppendBlock block{.source = "s", .first_line = (*engine)->Producer("s").lines, .barrier = true};
    block.lines.push_back({.envelope = event});
    ASSERT_TRUE((*engine)->Append(block).ok());
  }
  // The new owner's partition is blocked until the account has been sent to it, and the log is copied then.
  settings.data_directory = temp / "copy";
  (*engine)->runner().Query(place, [&](stream::Slot&) {
    const std::string moves = envelope(wire::HostMember{.host = host, .user = new_owner});
    stream::embedded::LogUnit unit;
    unit.outputs.push_back(
        {.where = wire::RouteEvent(moves, settings.partitions), .payload = {}, .count = 1});
    stream::AppendRecord(unit.outputs.back().payload, moves);
    (*engine)->log().WaitDurable((*engine)->log().Append(std::move(unit)));
    for (bool sent = false; !sent;) {
      ASSERT_TRUE((*engine)->failure().ok());
      std::this_thread::yield();
      ASSERT_TRUE((*engine)
                      ->ForEachRecord({wire::kGrants, place},
                                      [&](std::uint64_t, std::string_view record) {
                                        wire::GrantHead head;
                                        sent = wire::DecodeGrantHead(record, &head) &&
                                               head.kind == wire::GrantKind::kHostAccount;
                                        return !sent;
                                      })
                      .ok());
    }
    std::filesystem::create_directories(settings.data_directory);
    std::filesystem::copy(temp / "data/log", temp / "copy/log", std::filesystem::copy_options::recursive);
  });
  EXPECT_EQ((*engine)->questions().Account(project, wire::AccountKind::kHost, host.value)->at("total"),
            "7.000000");

  auto copy = Engine::Open(settings, [](const std::string&) {});
  ASSERT_TRUE(copy.ok()) << copy.status().message();
  const auto on_its_way = (*copy)->questions().Account(project, wire::AccountKind::kHost, host.value);
  EXPECT_EQ(on_its_way.status().code(), StatusCode::kRetry);
  EXPECT_NE(on_its_way.status().message().find("cobblestone run"), std::string::npos)
      << on_its_way.status().message();
  (*copy)->Start();
  (*copy)->WaitIdle();
  const auto arrived = (*copy)->questions().Account(project, wire::AccountKind::kHost, host.value);
  ASSERT_TRUE(arrived.ok()) << arrived.status().message();
  EXPECT_EQ(arrived->at("total"), "7.000000");
  EXPECT_EQ(arrived->at("user"), new_owner.value);
}

}  // namespace
}  // namespace cobblestone::testing
