#include "common/wire/events/head_peek.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "common/wire/control/watermark_codec.h"
#include "common/wire/ledger/claim_codec.h"
#include "common/wire/ledger/grant_codec.h"

namespace cobblestone::wire {
namespace {

// Numbers with varints of every length, and 0, which is left out.
std::vector<std::uint64_t> Numbers() {
  std::vector<std::uint64_t> all = {0, 1, std::numeric_limits<std::uint64_t>::max()};
  for (int bit = 7; bit < 64; bit += 7)
    for (const std::int64_t near : {-1, 0, 1})
      all.push_back((std::uint64_t{1} << bit) + static_cast<std::uint64_t>(near));
  return all;
}

credit::Claim ClaimOf(std::uint64_t n, std::uint64_t app, bool whole) {
  credit::Claim claim;
  claim.project = ProjectId(static_cast<std::uint32_t>(n));
  claim.app = AppId(app);
  claim.flags = static_cast<std::uint32_t>(n >> 3);
  if (!whole) return claim;
  claim.result = ResultId(n);
  claim.workunit = WorkunitId(app);
  claim.host = HostId(n);
  claim.user = UserId(app);
  claim.version = AppVersionId(-static_cast<std::int64_t>(n >> 1));
  claim.time = 1.7e9;
  claim.validation_id = n;
  claim.line = app;
  claim.elapsed_time = 7;
  return claim;
}

GrantHead GrantOf(std::uint64_t n, std::uint64_t app, bool whole) {
  GrantHead grant{.project = ProjectId(static_cast<std::uint32_t>(n)),
                  .app = AppId(app),
                  .credit_micro = static_cast<std::int64_t>(n),
                  .kind = static_cast<GrantKind>(n % 10)};
  if (!whole) return grant;
  grant.user = UserId(n);
  grant.host = HostId(app);
  grant.team = TeamId(n);
  grant.result = ResultId(app);
  grant.time = 1.7e9;
  grant.work_start = 3;
  grant.flags = 5;
  return grant;
}

TEST(HeadPeek, ReadsTheSameAsDecoding) {
  for (const std::uint64_t n : Numbers()) {
    for (const std::uint64_t app : Numbers()) {
      for (const bool whole : {false, true}) {
        const credit::Claim claim = ClaimOf(n, app, whole);
        std::string bytes;
        EncodeClaim(claim, &bytes);
        ClaimHead of_claim;
        ASSERT_TRUE(PeekClaim(bytes, &of_claim)) << n << " " << app;
        EXPECT_EQ(of_claim, (ClaimHead{claim.project, claim.app, claim.flags})) << n << " " << app;

        const GrantHead grant = GrantOf(n, app, whole);
        const std::string inner = bytes;
        bytes.clear();
        EncodeGrant(grant, {}, {}, whole ? inner : "", &bytes);
        AwardHead of_grant;
        ASSERT_TRUE(PeekAward(bytes, &of_grant)) << n << " " << app;
        EXPECT_EQ(of_grant, (AwardHead{grant.project, grant.app, grant.credit_micro, grant.kind}))
            << n << " " << app;
      }
    }
  }
}

TEST(HeadPeek, NothingIsReadPastTheEndOfTruncatedBytes) {
  std::string claim;
  EncodeClaim(ClaimOf(1u << 30, 1ull << 60, true), &claim);
  std::string grant;
  EncodeGrant(GrantOf(1u << 30, 1ull << 60, true), {}, {}, claim, &grant);
  for (std::size_t size = 0; size < grant.size(); ++size) {
    // A copy of the exact size, so that a sanitizer detects a read past the end.
    const std::vector<char> cut(grant.begin(), grant.begin() + static_cast<std::ptrdiff_t>(size));
    const std::string_view bytes(cut.data(), cut.size());
    GrantHead head;
    AwardHead award;
    if (!DecodeGrantHead(bytes, &head)) {
      EXPECT_FALSE(PeekAward(bytes, &award) && size < 40) << size;
    } else if (PeekAward(bytes, &award)) {
      EXPECT_EQ(award.credit_micro, head.credit_micro) << size;
      EXPECT_EQ(award.kind, head.kind) << size;
    }
    ClaimHead of_claim;
    (void)PeekClaim(bytes, &of_claim);
  }
}

TEST(HeadPeek, AFinalGrantHasTheFlagsOfItsOwnClaim) {
  credit::Claim claim = ClaimOf(7, 8, true);
  claim.flags = credit::kClaimValid | credit::kClaimRising;
  std::string inner;
  EncodeClaim(claim, &inner);
  const auto bytes = [&](GrantKind kind, std::uint32_t flags_of_other) {
    GrantHead head = GrantOf(7, 8, true);
    head.kind = kind;
    std::string record;
    EncodeGrant(head, {}, std::vector<OtherClaim>{{.flags = flags_of_other}}, inner, &record);
    return record;
  };
  const std::string grant = bytes(GrantKind::kFinal, credit::kClaimOnProbation);
  EXPECT_TRUE(IsFinalOfClaim(grant, credit::kClaimRising));
  EXPECT_TRUE(IsFinalOfClaim(grant, credit::kClaimRising | credit::kClaimValid));
  EXPECT_FALSE(IsFinalOfClaim(grant, credit::kClaimOnProbation)) << "of another replica";
  EXPECT_FALSE(IsFinalOfClaim(grant, credit::kClaimRising | credit::kClaimOnProbation));
  EXPECT_FALSE(IsFinalOfClaim(bytes(GrantKind::kPartial, 0), credit::kClaimRising));
  EXPECT_FALSE(IsFinalOfClaim(grant.substr(0, grant.size() - inner.size()), credit::kClaimRising));
}

TEST(HeadPeek, AMarkIsNoClaim) {
  std::string bytes;
  EncodePassed(PassedIn::kClaim, {}, &bytes);
  ClaimHead head;
  EXPECT_FALSE(PeekClaim(bytes, &head));
  bytes.clear();
  EncodePassed(PassedIn::kGrant, {}, &bytes);
  AwardHead award;
  ASSERT_TRUE(PeekAward(bytes, &award));
  EXPECT_EQ(award.kind, GrantKind::kWatermark);
}

}  // namespace
}  // namespace cobblestone::wire
