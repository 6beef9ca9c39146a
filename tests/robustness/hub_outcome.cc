#include "tests/robustness/hub_outcome.h"

#include <gtest/gtest.h>

#include <map>
#include <string_view>
#include <utility>

#include "common/wire/control/topics.h"
#include "services/identity/identity_rows.h"
#include "services/members/member_rows.h"
#include "services/view/hub/account_days.h"
#include "services/view/state.h"

namespace cobblestone::testing {

using wire::AccountKind;

namespace {

void AddMembers(const view::Rows& rows, AccountKind kind, const stream::TableSpec<members::MemberRow>& table,
                const stream::TableSpec<credit::DayBlock<credit::DaySum>>& day_table, HubOutcome* outcome) {
  std::vector<std::pair<stream::Key, members::MemberRow>> found;
  Status read = view::ForEach(rows, table, [&](const stream::Key& key, const members::MemberRow& row) {
    found.emplace_back(key, row);
    return Status::Ok();
  });
  EXPECT_TRUE(read.ok()) << read.message();
  for (auto& [key, row] : found) {
    std::vector<credit::DaySum> sums = row.days;
    read = view::AddOlderMemberDays(rows, day_table, key, sums);
    EXPECT_TRUE(read.ok()) << read.message();
    std::map<std::int64_t, std::int64_t> days;
    for (const credit::DaySum& day : sums) days[day.day] += day.micro;
    const std::string name =
        std::to_string(key.project) + "/" + KindText(kind) + "/" + std::to_string(key.id);
    EXPECT_EQ(outcome->accounts.count(name), 0u) << name << " is in two partitions";
    outcome->accounts[name] = AccountText(row.now.gone, row.now.total_micro, row.opening_micro,
                                          row.counted_micro, row.now.name, days);
  }
}

void ExpectSameRows(const std::map<std::string, std::string>& found,
                    const std::map<std::string, std::string>& expected) {
  EXPECT_EQ(found.size(), expected.size());
  int shown = 0;
  for (const auto& [name, row] : expected) {
    const auto at = found.find(name);
    if (at != found.end() && at->second == row) continue;
    if (++shown > 5) return;
    ADD_FAILURE() << name << ": expected " << ::testing::PrintToString(row) << ", found "
                  << (at == found.end() ? "nothing" : ::testing::PrintToString(at->second));
  }
  for (const auto& [name, row] : found)
    if (!expected.contains(name) && ++shown <= 5)
      ADD_FAILURE() << name << ": not expected: " << ::testing::PrintToString(row);
}

}  // namespace

HubOutcome OutcomeOfHub(embedded::Engine& engine) {
  HubOutcome outcome;
  view::State& state = engine.live_state();
  for (std::uint32_t p = 0; p < engine.pipeline().partitions; ++p) {
    const auto rows = state.Of(view::Stage::kAccounts, p);
    EXPECT_TRUE(rows.ok()) << rows.status().message();
    if (!rows.ok()) return outcome;
    AddMembers(**rows, AccountKind::kHost, members::kHostsTable, members::kHostDaysTable, &outcome);
    AddMembers(**rows, AccountKind::kUser, members::kUsersTable, members::kUserDaysTable, &outcome);
    AddMembers(**rows, AccountKind::kTeam, members::kTeamsTable, members::kTeamDaysTable, &outcome);
  }
  const auto rows = state.Of(view::Stage::kCoordinator, 0);
  EXPECT_TRUE(rows.ok()) << rows.status().message();
  if (!rows.ok()) return outcome;
  for (const std::uint8_t table :
       {identity::kUsersTable.id, identity::kCpidsTable.id, identity::kIdentitiesTable.id,
        identity::kProjectsTable.id, identity::kSwingersTable.id, identity::kDeletionsTable.id}) {
    const Status read = (*rows)->Scan(table, [&](const stream::Key& key, std::string_view value) {
      outcome.identities[RowName(table, key.project, key.id, key.sub)] = value;
      return Status::Ok();
    });
    EXPECT_TRUE(read.ok()) << read.message();
  }
  const Status read = engine.ForEachRecord({wire::kRefused, 0}, [&](std::uint64_t, std::string_view) {
    ++outcome.refused;
    return true;
  });
  EXPECT_TRUE(read.ok()) << read.message();
  return outcome;
}

void ExpectLikeTheHubOracle(embedded::Engine& engine, const std::vector<Event>& events) {
  const HubOutcome expected = HubOracle(events);
  const HubOutcome found = OutcomeOfHub(engine);
  ExpectSameRows(found.accounts, expected.accounts);
  ExpectSameRows(found.identities, expected.identities);
  EXPECT_EQ(found.refused, expected.refused);
}

settings::RunSettings BusyHubSettings(const std::string& directory) {
  settings::RunSettings settings = BusySettings(directory);
  settings.role = settings::Role::kHub;
  return settings;
}

}  // namespace cobblestone::testing
