// The accounts' totals agree with the ledger wherever credit can be: in an account, on its way to a host's new owner,
// waiting for a user, expired, or of a deleted user. One micro-credit too many is found anywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "common/stream/state_codec.h"
#include "common/wire/control/topics.h"
#include "services/accounts/accounts_stage.h"
#include "services/teams/teams_stage.h"
#include "tests/support/control_totals_of.h"
#include "tests/support/engine_story.h"

namespace cobblestone::testing {

using audit::Reconcile;
using ledger::LedgerAccount;
using ledger::LedgerPlaces;
using ledger::LedgerSums;
using ledger::StateSnapshot;

namespace {

using ::testing::HasSubstr;
using wire::AccountKind;

constexpr std::int64_t kMicro = 1'000'000;

class ControlTotals : public EngineStory {
 protected:
  void SetUp() override {
    Open();
    Send(kStart, wire::AppChange{
                     .app = AppId(1), .policy = "assigned", .delay_bound = kDay, .result_window = 10 * kDay});
  }
  void Host(double time, std::uint64_t host, std::uint64_t user) {
    Send(time, wire::HostMember{.host = HostId(host), .user = UserId(user), .cpus = 1});
  }
  void Opening(AccountKind kind, std::uint64_t account, std::int64_t micro) {
    Send(kStart, wire::OpeningTotal{.kind = kind, .account = account, .total_micro = micro});
  }
  void Granted(double time, std::uint64_t host, double credit) {
    EngineStory::Granted(time, ++result_, host, credit);
  }
  // A user in another partition than user 1.
  [[nodiscard]] std::uint64_t UserElsewhere() const {
    const auto partition = [&](std::uint64_t id) {
      return wire::PartitionOf(kProject, id, settings_.partitions);
    };
    std::uint64_t user = 10;
    while (partition(user) == partition(1)) ++user;
    return user;
  }
  // Credit in every possible state.
  void Story() {
    const std::uint64_t other = UserElsewhere();
    Send(kStart, wire::TeamMember{.team = TeamId(11)});
    Send(kStart, wire::UserMember{.user = UserId(1), .team = TeamId(11)});
    Send(kStart, wire::UserMember{.user = UserId(3)});
    Send(kStart, wire::UserMember{.user = UserId(other)});
    Host(kStart, 1, 1);
    Host(kStart, 2, 2);  // an unknown user
    Host(kStart, 3, 3);
    Opening(AccountKind::kTeam, 11, 3 * kMicro);
    Opening(AccountKind::kUser, 1, 5 * kMicro + 500'000);
    Opening(AccountKind::kHost, 1, 2 * kMicro);
    Granted(kStart, 1, 1);
    Granted(kStart, 2, 2);
    Granted(kStart + 5 * kDay, 2, 4);
    Granted(kStart + 5 * kDay, 3, 8);
    Send(kStart + 6 * kDay, wire::UserMember{.user = UserId(3), .deleted = true});
    Granted(kStart + 6 * kDay, 3, 16);
    Host(kStart + 7 * kDay, 1, other);
    Granted(kStart + 7 * kDay, 1, 32);
    Send(kStart + 12 * kDay, wire::Tick{.time = kStart + 12 * kDay});
  }

  std::uint64_t result_ = 500;
};

TEST_F(ControlTotals, EveryMicroCreditIsInAnAccountOrExplained) {
  Story();
  const auto totals = ControlTotalsOf(*engine_, kProject, false);
  ASSERT_TRUE(totals.ok()) << totals.status().message();
  EXPECT_EQ(totals->event_time, kStart + 12 * kDay);
  ASSERT_EQ(totals->positions.size(), 3u);
  std::uint64_t read = 0;
  for (std::uint32_t k = 0; k < 3; ++k) {
    EXPECT_EQ(totals->positions[k].grants, engine_->log().DurableEnd({wire::kGrants, k}));
    EXPECT_EQ(totals->positions[k].postings, engine_->log().DurableEnd({wire::kPostings, k}));
    read += totals->positions[k].grants;
  }
  EXPECT_GT(read, 6u);
  const exports::KindTotals& users = totals->users;
  EXPECT_TRUE(users.opening == 5'500'000);
  EXPECT_TRUE(users.granted == 63 * kMicro);
  EXPECT_TRUE(users.waiting == 4 * kMicro);
  EXPECT_TRUE(users.expired == 2 * kMicro);
  EXPECT_TRUE(users.total == 62'500'000);
  const exports::KindTotals& hosts = totals->hosts;
  EXPECT_EQ(hosts.accounts, 3u) << "a host that moved counts once";
  EXPECT_TRUE(hosts.opening == 2 * kMicro);
  EXPECT_TRUE(hosts.granted == 63 * kMicro);
  EXPECT_TRUE(hosts.waiting == 4 * kMicro);
  EXPECT_TRUE(hosts.moving == 0);
  EXPECT_TRUE(hosts.total == 61 * kMicro);
  const exports::KindTotals& teams = totals->teams;
  EXPECT_TRUE(teams.opening == 3 * kMicro);
  EXPECT_TRUE(teams.granted == 1 * kMicro);
  EXPECT_TRUE(teams.total == 4 * kMicro);
  const auto other = ControlTotalsOf(*engine_, ProjectId(2), false);
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(other->users.accounts, 0u);
}

TEST_F(ControlTotals, StoredSumsAreContinuedAndErrorsInThemAreFound) {
  Story();
  ASSERT_TRUE(ControlTotalsOf(*engine_, kProject, false).ok());
  const std::string file = temp_ / "data/ledger-sums";
  Granted(kStart + 13 * kDay, 1, 64);
  Opening(AccountKind::kTeam, 12, 7);
  Send(kStart + 13 * kDay, wire::UserMember{.user = UserId(1), .deleted = true});
  Granted(kStart + 13 * kDay, 1, 128);
  const auto further = ControlTotalsOf(*engine_, kProject, false);
  ASSERT_TRUE(further.ok()) << further.status().message();
  const auto from_start = ControlTotalsOf(*engine_, kProject, true);
  ASSERT_TRUE(from_start.ok()) << from_start.status().message();
  EXPECT_TRUE(further->users.total == from_start->users.total &&
              further->users.granted == from_start->users.granted);
  EXPECT_TRUE(from_start->users.granted == (63 + 64 + 128) * kMicro);
  EXPECT_TRUE(from_start->teams.opening == 3 * kMicro + 7);

  // Sums that lack a grant within the range that they claim to cover.
  auto sums = LedgerSums::Load(file);
  ASSERT_TRUE(sums.ok());
  for (LedgerSums::Entry& entry : sums->entries())
    if (entry.account == LedgerAccount::kHost && entry.id == 3) entry.micro -= 1;
  ASSERT_TRUE(sums->Save(file).ok());
  const auto wrong = ControlTotalsOf(*engine_, kProject, false);
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.status().message(), HasSubstr("host 3 has 0.000001 Cobblestones too many"));
  EXPECT_TRUE(ControlTotalsOf(*engine_, kProject, true).ok());

  // Damaged, truncated, or ahead of the state: the ledger is read again.
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_EQ(LedgerSums::Load(file).status().code(), StatusCode::kCorrupted);
  EXPECT_TRUE(ControlTotalsOf(*engine_, kProject, false).ok());
  std::ofstream(file, std::ios::in | std::ios::out).seekp(60).put('!');
  EXPECT_EQ(LedgerSums::Load(file).status().code(), StatusCode::kCorrupted);
  EXPECT_TRUE(ControlTotalsOf(*engine_, kProject, false).ok());
  const LedgerPlaces nothing{.grants = {0, 0, 0}, .postings = {0, 0, 0}};
  ASSERT_TRUE(engine_->SumLedger(nothing, false, {}).ok());
  const auto empty = LedgerSums::Load(file);
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->TotalsOf(kProject).hosts.granted == 0);
  EXPECT_TRUE(ControlTotalsOf(*engine_, kProject, false).ok());
}

TEST_F(ControlTotals, ALedgerThatEndsBeforeTheStateIsCorrupted) {
  Story();
  const auto snapshot = StateSnapshot::Take(engine_->live_state());
  ASSERT_TRUE(snapshot.ok());
  LedgerPlaces beyond = snapshot->places;
  ++beyond.postings[1];
  const auto sums = engine_->SumLedger(beyond, false, {});
  EXPECT_EQ(sums.status().code(), StatusCode::kCorrupted);
  EXPECT_FALSE(engine_->SumLedger({}, false, {}).ok());
}

// The rows of a source, with one account altered.
template <class Value>
class Altered final : public view::Rows {
 public:
  Altered(std::shared_ptr<const view::Rows> rows, const stream::TableSpec<Value>& table, std::uint64_t id)
      : rows_(std::move(rows)), table_(table), id_(id) {}

  [[nodiscard]] Result<stream::SlotMeta> Meta() const override { return rows_->Meta(); }
  Status Get(std::uint8_t table, const stream::Key& key, std::string* value) const override {
    return rows_->Get(table, key, value);
  }
  Status Scan(std::uint8_t table,
              const std::function<Status(const stream::Key&, std::string_view)>& visit) const override {
    return rows_->Scan(table, [&](const stream::Key& key, std::string_view bytes) {
      if (table != table_.id || key.id != id_) return visit(key, bytes);
      Value value;
      EXPECT_TRUE(stream::DecodeRow(table_, bytes, value).ok());
      value.account.total_micro += 1;
      std::string altered;
      stream::EncodeRow(table_, value, altered);
      return visit(key, altered);
    });
  }

 private:
  const std::shared_ptr<const view::Rows> rows_;
  const stream::TableSpec<Value> table_;
  const std::uint64_t id_;
};

TEST_F(ControlTotals, OneMicroCreditTooManyIsFoundInAnyAccount) {
  Story();
  const auto snapshot = StateSnapshot::Take(engine_->live_state());
  ASSERT_TRUE(snapshot.ok());
  const auto expect = [&](const StateSnapshot& altered, const std::string& who) {
    auto sums = SumsFor(*engine_, *snapshot, false);
    ASSERT_TRUE(sums.ok()) << sums.status().message();
    const auto reconciled = Reconcile(altered, kProject, *sums);
    EXPECT_EQ(reconciled.status().code(), StatusCode::kCorrupted) << who;
    EXPECT_THAT(reconciled.status().message(), HasSubstr(who + " has 0.000001 Cobblestones too many"));
  };
  const auto all = [&]<class Value>(StateSnapshot::RowsOf StateSnapshot::*rows,
                                    const stream::TableSpec<Value>& table, std::uint64_t id) {
    StateSnapshot altered = *snapshot;
    for (auto& of : altered.*rows) of = std::make_shared<Altered<Value>>(of, table, id);
    return altered;
  };
  expect(all(&StateSnapshot::accounts, accounts::kUsersTable, 1), "user 1");
  expect(all(&StateSnapshot::accounts, accounts::kHostsTable, 2), "host 2");
  expect(all(&StateSnapshot::teams, teams::kTeamsTable, 11), "team 11");
}

}  // namespace
}  // namespace cobblestone::testing
