// The sums of the ledger do not depend on how reads and places divide the ledger, and they are stored exactly. A
// missing record and a record that cannot be decoded are errors.
#include "services/ledger/ledger_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/control/topics.h"
#include "common/wire/ledger/grant_codec.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {

using ledger::IndexedLogOf;
using ledger::KeepLedgerSums;
using ledger::LedgerAccount;
using ledger::LedgerPlaces;
using ledger::LedgerSums;

namespace {

using stream::IndexedLog;
using stream::TopicPartition;
using ::testing::HasSubstr;

// Records by partition. The records of an inner list are stored together, with one offset for each record or one
// place for all.
using Pieces = std::map<TopicPartition, std::vector<std::vector<std::string>>>;

class FakeLog final : public IndexedLog {
 public:
  FakeLog(const Pieces& pieces, bool one_place) : pieces_(pieces), one_place_(one_place) {}
  [[nodiscard]] std::uint64_t Begin(TopicPartition) override { return 0; }
  [[nodiscard]] std::uint64_t End(TopicPartition where) override {
    std::uint64_t end = 0;
    if (const auto found = pieces_.find(where); found != pieces_.end())
      for (const auto& piece : found->second) end += one_place_ ? 1 : piece.size();
    return end;
  }
  Result<Piece> Read(TopicPartition where, std::uint64_t offset) override {
    std::uint64_t first = 0;
    if (const auto found = pieces_.find(where); found != pieces_.end())
      for (const auto& records : found->second) {
        const std::uint64_t end = first + (one_place_ ? 1 : records.size());
        if (offset < end)
          return Piece{.first = first,
                       .end = end,
                       .records = {records.begin(), records.end()},
                       .one_place = one_place_};
        first = end;
      }
    return Piece{};
  }

 private:
  const Pieces& pieces_;
  const bool one_place_;
};

IndexedLogOf LogOf(const Pieces& pieces, bool one_place) {
  return [&pieces, one_place](stream::TopicIndex) { return std::make_unique<FakeLog>(pieces, one_place); };
}

std::string Grant(std::uint64_t user, std::uint64_t host, std::int64_t micro,
                  wire::GrantKind kind = wire::GrantKind::kFinal, std::uint64_t team = 0) {
  std::string bytes;
  wire::EncodeGrant({.project = ProjectId(1),
                     .user = UserId(user),
                     .host = HostId(host),
                     .team = TeamId(team),
                     .credit_micro = micro,
                     .kind = kind},
                    {}, {}, {}, &bytes);
  return bytes;
}
std::string Posting(std::uint64_t team, std::int64_t micro) {
  std::string bytes;
  wire::EncodePosting({.project = ProjectId(1), .team = TeamId(team), .credit_micro = micro}, &bytes);
  return bytes;
}

using Sums = std::map<std::pair<LedgerAccount, std::uint64_t>, long long>;
Sums SumsOf(LedgerSums& sums) {
  Sums all;
  for (const auto& entry : sums.entries()) {
    EXPECT_TRUE(all.emplace(std::pair(entry.account, entry.id), static_cast<long long>(entry.micro)).second);
  }
  return all;
}

TEST(LedgerSums, AreTheSameForAnyDivisionOfTheLedger) {
  std::mt19937_64 random(1);
  Pieces pieces;
  Sums truth;
  std::uint64_t records = 0;
  for (int piece = 0; piece < 60; ++piece) {
    std::vector<std::string> grants;
    std::vector<std::string> postings;
    for (std::uint64_t i = 0, n = 1 + random() % 5; i < n; ++i, ++records) {
      const std::uint64_t user = random() % 7;
      const std::uint64_t host = 1 + random() % 9;
      const auto micro = static_cast<std::int64_t>(random() >> 24);
      const bool opening = random() % 4 == 0;
      grants.push_back(
          Grant(user, host, micro, opening ? wire::GrantKind::kOpening : wire::GrantKind::kFinal));
      truth[{LedgerAccount::kHost, host}] += micro;
      if (user != 0 && !opening) truth[{LedgerAccount::kUser, user}] += micro;
      postings.push_back(Posting(1 + user % 3, micro));
      truth[{LedgerAccount::kTeam, 1 + user % 3}] += micro;
    }
    pieces[{wire::kGrants, static_cast<std::uint32_t>(piece) % 2}].push_back(std::move(grants));
    pieces[{wire::kPostings, static_cast<std::uint32_t>(piece) % 2}].push_back(std::move(postings));
  }
  const testing::TempDir dir;
  for (const bool one_place : {false, true}) {
    FakeLog log(pieces, one_place);
    const auto log_of = LogOf(pieces, one_place);
    const auto end = [&](stream::TopicIndex topic, std::uint32_t p) { return log.End({topic, p}); };
    for (const std::uint64_t cuts : {1, 2, 7}) {
      const std::string file = dir / ("sums" + std::to_string(cuts) + (one_place ? "p" : ""));
      for (std::uint64_t cut = 1; cut <= cuts; ++cut) {
        const LedgerPlaces to{
            .grants = {end(wire::kGrants, 0) * cut / cuts, end(wire::kGrants, 1) * cut / cuts},
            .postings = {end(wire::kPostings, 0) * cut / cuts, end(wire::kPostings, 1) * cut / cuts}};
        const Status kept = KeepLedgerSums(file, log_of, to, false, {});
        ASSERT_TRUE(kept.ok()) << kept.message();
      }
      auto sums = LedgerSums::Load(file);
      ASSERT_TRUE(sums.ok()) << sums.status().message();
      EXPECT_EQ(SumsOf(*sums), truth) << cuts << " cuts";
    }
  }
  EXPECT_GT(records, 100u);
}

TEST(LedgerSums, TeamOpeningsAfterThePlacesAreKeptSeparately) {
  const Pieces pieces = {{{wire::kGrants, 0},
                          {{Grant(0, 0, 5, wire::GrantKind::kOpening, 1), Grant(1, 2, 7)},
                           {Grant(0, 0, 9, wire::GrantKind::kOpening, 3), Grant(1, 2, 11)}}}};
  LedgerSums sums;
  ASSERT_TRUE(sums.ReadUpTo(LogOf(pieces, false), {.grants = {2}, .postings = {0}}, {}).ok());
  EXPECT_EQ(SumsOf(sums), (Sums{{{LedgerAccount::kHost, 2}, 7},
                                {{LedgerAccount::kUser, 1}, 7},
                                {{LedgerAccount::kTeamOpening, 1}, 5}}));
  ASSERT_EQ(sums.late_openings().size(), 1u);
  EXPECT_EQ(sums.late_openings()[0].id, 3u);
  ASSERT_TRUE(sums.ReadUpTo(LogOf(pieces, false), {.grants = {4}, .postings = {0}}, {}).ok());
  EXPECT_TRUE(sums.late_openings().empty());
  EXPECT_EQ(SumsOf(sums)[std::pair(LedgerAccount::kTeamOpening, std::uint64_t{3})], 9);
}

TEST(LedgerSums, UndecodableAndMissingRecordsAreReported) {
  const Pieces pieces = {{{wire::kGrants, 0}, {{Grant(1, 2, 7), "\xff"}}}};
  LedgerSums sums;
  const Status bad = sums.ReadUpTo(LogOf(pieces, false), {.grants = {2}, .postings = {0}}, {});
  EXPECT_EQ(bad.code(), StatusCode::kCorrupted);
  EXPECT_THAT(bad.message(), HasSubstr("record 1 of partition 0 of grants cannot be decoded"));
  LedgerSums more;
  const Status short_of = more.ReadUpTo(LogOf({}, false), {.grants = {0}, .postings = {3}}, {});
  EXPECT_EQ(short_of.code(), StatusCode::kCorrupted);
  EXPECT_THAT(short_of.message(),
              HasSubstr("partition 0 of postings ends at 0, but the state has read the partition up to 3"));
}

}  // namespace
}  // namespace cobblestone
