// Proofs of account ownership, signed as BOINC's page signs them: RSA, SHA-512, base64.
#include "common/federation/identity/ownership_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/signing_project.h"

namespace cobblestone::federation {
namespace {

using ::testing::HasSubstr;

using Project = testing::SigningProject;

std::string Page(const std::string& message, const std::string& signature) {
  return "<account_ownership_verification>\n<master_url>https://a.example/</master_url>\n<msg>" + message +
         "</msg>\n<signature>" + signature + "</signature>\n</account_ownership_verification>";
}

TEST(OwnershipProof, OfTheProjectIsAccepted) {
  const Project project;
  const std::string message = "17 cobblestone joins https://b.example/ 4711";
  const auto proof = ReadOwnershipProof(Page(message, project.Sign(message)));
  ASSERT_TRUE(proof.ok()) << proof.status().message();
  EXPECT_EQ(proof->master_url, "https://a.example/");
  EXPECT_TRUE(VerifyOwnershipProof(*proof, project.PublicKey()).ok());
  const auto statement = ParseStatement(proof->message);
  ASSERT_TRUE(statement.ok());
  EXPECT_EQ(statement->user, 17u);
  EXPECT_EQ(statement->other_url, "https://b.example/");
  EXPECT_EQ(statement->other_user, 4711u);
}

TEST(OwnershipProof, IsRefusedIfAnythingIsWrong) {
  const Project project;
  const Project another;
  const std::string message = "17 cobblestone leaves 2026-11-27";
  const OwnershipProof good{
      .master_url = "https://a.example/", .message = message, .signature = project.Sign(message)};
  ASSERT_TRUE(VerifyOwnershipProof(good, project.PublicKey()).ok());
  OwnershipProof other_user = good;
  other_user.message = "18 cobblestone leaves 2026-11-27";
  OwnershipProof no_base64 = good;
  no_base64.signature = "not base64 at all!";
  OwnershipProof flipped = good;
  flipped.signature[5] = flipped.signature[5] == 'A' ? 'B' : 'A';
  for (const OwnershipProof& bad : {other_user, no_base64, flipped})
    EXPECT_EQ(VerifyOwnershipProof(bad, project.PublicKey()).code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(VerifyOwnershipProof(good, another.PublicKey()).ok()) << "signed by another project";
  EXPECT_FALSE(VerifyOwnershipProof(good, "no key").ok());
  const Project weak(1024);
  const OwnershipProof forgeable{.master_url = "u", .message = message, .signature = weak.Sign(message)};
  EXPECT_THAT(VerifyOwnershipProof(forgeable, weak.PublicKey()).message(), HasSubstr("2,048 bits"));
}

TEST(OwnershipProof, WithoutAllPartsIsNotRead) {
  for (const std::string& text :
       {std::string(), std::string("<msg>1 a</msg>"), Page("", "AAAA"), Page("1 a", ""),
        Page(std::string(6000, 'x'), "AAAA"), Page("1 a", std::string(5000, 'A'))})
    EXPECT_EQ(ReadOwnershipProof(text).status().code(), StatusCode::kInvalidArgument);
}

TEST(OwnershipProof, HasAStatementForTheHub) {
  const auto leaves = ParseStatement("17 cobblestone leaves 2024-02-29");
  ASSERT_TRUE(leaves.ok());
  EXPECT_EQ(leaves->kind, StatementKind::kLeaves);
  EXPECT_EQ(leaves->day, 19'782u);  // 54 years of 365 days, 13 leap days before 2024, 31 + 28 days
  const auto returns = ParseStatement("17 cobblestone returns 1971-01-01");
  ASSERT_TRUE(returns.ok());
  EXPECT_EQ(returns->kind, StatementKind::kReturns);
  EXPECT_EQ(returns->day, 365u);
  for (const char* text :
       {"", "17", "17 hello", "0 cobblestone leaves 2026-11-27", "17 cobblestone leaves 2026-02-29",
        "17 cobblestone leaves 2026-13-01", "17 cobblestone leaves 2026-11-27 ",
        "17 cobblestone leaves 26-11-27", "17 cobblestone joins https://b.example/",
        "17 cobblestone joins https://b.example/ 0", "17 cobblestone joins https://b.example/ 4711 5",
        "17 cobblestone stays 2026-11-27"})
    EXPECT_FALSE(ParseStatement(text).ok()) << text;
}

}  // namespace
}  // namespace cobblestone::federation
