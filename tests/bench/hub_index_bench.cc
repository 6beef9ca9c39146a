// Build of a hub's index of accounts from rows in memory: 10 projects, a million users of whom half share an identity with
// another account, and a million hosts. The store's own cost is not measured.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/federation/identity/facts.h"
#include "services/feeds/feed_rows.h"
#include "services/identity/identity_rows.h"
#include "services/members/member_rows.h"
#include "services/view/hub/hub_index_build.h"

namespace cobblestone::view {
namespace {

constexpr std::uint32_t kProjects = 10;
constexpr std::uint64_t kOfEach = 100'000;  // users and hosts of a project
constexpr double kNow = 1.7e9;

class BenchRows final : public Rows {
 public:
  Result<stream::SlotMeta> Meta() const override { return stream::SlotMeta{}; }
  Status Get(std::uint8_t, const stream::Key&, std::string*) const override { return Status::NotFound(""); }
  Status Scan(std::uint8_t table, const Visit& visit) const override {
    for (const auto& [key, bytes] : rows_[table])
      if (Status s = visit(key, bytes); !s.ok()) return s;
    return Status::Ok();
  }
  template <class Row>
  void Put(const stream::TableSpec<Row>& table, const stream::Key& key, const Row& row) {
    std::string bytes;
    stream::EncodeRow(table, row, bytes);
    rows_[table.id].emplace_back(key, std::move(bytes));
  }

 private:
  std::vector<std::pair<stream::Key, std::string>> rows_[256];
};

wire::FeedAccount Account(std::uint64_t n, const char* country) {
  const std::uint64_t mixed = n * 0x9E3779B97F4A7C15ull;
  return {.edition = 1,
          .total_micro = static_cast<credit::MicroCredit>(mixed >> 20),
          .recent = static_cast<double>(mixed >> 50),
          .recent_time = kNow - static_cast<double>(mixed % 10'000'000),
          .create_time = 1.2e9,
          .name = "volunteer " + std::to_string(n % 1'000'003),
          .country = country,
          .cross_project_id = federation::CpidText({.high = mixed, .low = n}),
          .team = n % 1000 + 1};
}

const HubRows& World() {
  static const HubRows kWorld = [] {
    auto leading = std::make_shared<BenchRows>();
    auto members = std::make_shared<BenchRows>();
    const char* const countries[] = {"Norway", "Chad", "International", "Peru"};
    for (std::uint32_t p = 1; p <= kProjects; ++p) {
      leading->Put(feeds::kProjectsTable, feeds::ProjectKey(ProjectId(p)),
                   feeds::ProjectRow{.complete = 1, .whole = 1});
      for (std::uint64_t n = 1; n <= kOfEach; ++n) {
        const stream::Key key{.project = p, .id = n, .sub = 0};
        const std::uint64_t all = p * kOfEach + n;
        members->Put(members::kUsersTable, key, members::MemberRow{.now = Account(all, countries[all % 4])});
        wire::FeedAccount host = Account(all, "");
        host.owner = n;
        members->Put(members::kHostsTable, key, members::MemberRow{.now = std::move(host)});
        if (n <= 1000)
          members->Put(members::kTeamsTable, key,
                       members::MemberRow{.now = Account(all % 700, countries[0])});
        const std::uint32_t eldest = n % 2 == 0 ? 1 : p;
        federation::UserRow user;
        user.accounts.push_back({.create_time = 1'200'000'000,
                                 .edges = {{.cpid = {.high = all, .low = 1}}},
                                 .decisions = {},
                                 .identity = {.project = eldest, .user = n, .create_time = 1'200'000'000}});
        leading->Put(identity::kUsersTable, key, user);
      }
    }
    HubRows rows;
    rows.leading = std::move(leading);
    rows.members.push_back(std::move(members));
    return rows;
  }();
  return kWorld;
}

void BuildIndex(benchmark::State& state) {
  const HubRows& world = World();
  std::shared_ptr<const HubIndex> index;
  for (auto _ : state) {
    auto built = BuildHubIndex(world, kNow, index.get(), [] { return false; });
    COBBLESTONE_CHECK(built.ok(), built.status().message());
    index = std::move(*built);
  }
  COBBLESTONE_CHECK(index->people.size() == kProjects * kOfEach / 2 + kOfEach / 2, "half are one of ten");
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * 2 * kProjects * kOfEach));
  state.counters["people"] = static_cast<double>(index->people.size());
}
BENCHMARK(BuildIndex)->Unit(benchmark::kMillisecond);

void FindRank(benchmark::State& state) {
  auto built = BuildHubIndex(World(), kNow, nullptr, [] { return false; });
  COBBLESTONE_CHECK(built.ok(), built.status().message());
  const HubIndex& index = **built;
  std::uint64_t n = 0;
  for (auto _ : state) {
    n = n * 6364136223846793005ull + 1442695040888963407ull;
    const Place user =
        index.FindUser(ProjectId(1 + static_cast<std::uint32_t>(n % kProjects)), 1 + (n >> 33) % kOfEach);
    benchmark::DoNotOptimize(index.PersonRank(index.users.all[user].person, HubRank::kRecent));
  }
}
BENCHMARK(FindRank);

}  // namespace
}  // namespace cobblestone::view
