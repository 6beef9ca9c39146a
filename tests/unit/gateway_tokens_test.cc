#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "services/gateway/rights/tokens.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::gateway {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kReader = "reader-token-0123456789";
constexpr const char* kSecret = "a-secret-that-nobody-sees";

TEST(GatewayTokens, EachRoleHasItsRights) {
  const auto tokens = Tokens::Parse(
      "# who may what\n"
      "read reader-token-0123456789\r\n"
      "\n"
      "ingest 1,2 results,members  server1:ingest-token-0123456789 ; operate operate-token-012345678;metrics metrics-token-012345678\n"
      "volunteer 7/42 volunteer-token-0123456",
      "here");
  ASSERT_TRUE(tokens.ok()) << tokens.status().message();
  EXPECT_EQ(tokens->size(), 5u);
  struct Case {
    const char* token;
    bool read, read_all, ingest, operate, metrics, trusted;
  };
  for (const Case& c : {Case{kReader, true, true, false, false, true, true},
                        Case{"ingest-token-0123456789", false, false, true, false, false, true},
                        Case{"operate-token-012345678", true, true, false, true, true, true},
                        Case{"metrics-token-012345678", false, false, false, false, true, true},
                        Case{"volunteer-token-0123456", true, false, false, false, false, false}}) {
    const auto rights = tokens->Find(c.token);
    ASSERT_TRUE(rights) << c.token;
    EXPECT_EQ(rights->read, c.read) << c.token;
    EXPECT_EQ(rights->read_all, c.read_all) << c.token;
    EXPECT_EQ(rights->ingest.has_value(), c.ingest) << c.token;
    EXPECT_EQ(rights->operate, c.operate) << c.token;
    EXPECT_EQ(rights->metrics, c.metrics) << c.token;
    EXPECT_EQ(rights->trusted, c.trusted) << c.token;
  }
  const auto ingest_token = tokens->Find("ingest-token-0123456789");
  EXPECT_TRUE(ingest_token->ingest->May(ProjectId(2), wire::EventKind::kUser));
  EXPECT_FALSE(ingest_token->ingest->May(ProjectId(3), wire::EventKind::kUser));
  EXPECT_FALSE(ingest_token->ingest->May(ProjectId(2), wire::EventKind::kApp));
  EXPECT_EQ(ingest_token->sender.owner(), "server1");
  EXPECT_EQ(ingest_token->sender.digest.size(), std::string("sha256:").size() + 64);
  const auto own = tokens->Find("volunteer-token-0123456")->own;
  ASSERT_TRUE(own);
  EXPECT_EQ(own->project, ProjectId(7));
  EXPECT_EQ(own->user, UserId(42));
}

TEST(GatewayTokens, ATokenMustMatchInEveryCharacter) {
  const auto tokens = Tokens::Parse(std::string("read ") + kReader, "here");
  ASSERT_TRUE(tokens.ok());
  const std::string token = kReader;
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(tokens->Find(other)) << i;
  }
  EXPECT_FALSE(tokens->Find(""));
  EXPECT_FALSE(tokens->Find(token.substr(1)));
  EXPECT_FALSE(tokens->Find(token + "0"));
  EXPECT_TRUE(tokens->Find(token));
}

TEST(GatewayTokens, AnErrorNamesTheLineButNotTheToken) {
  struct Case {
    std::string line;
    const char* problem;
  };
  const std::string secret = kSecret;
  for (const Case& c :
       {Case{"reader " + secret, "does not start with a role"}, Case{secret, "does not start with a role"},
        Case{"read", "the token must be 16 to 512"}, Case{"read short", "the token must be 16 to 512"},
        Case{"read " + secret + "!", "the token must be 16 to 512"},
        Case{"read " + secret + " " + secret, "the line has extra text"},
        Case{"volunteer " + secret, "a volunteer's token is for one account"},
        Case{"volunteer 0/1 " + secret, "a volunteer's token is for one account"},
        Case{"volunteer 1/x " + secret, "a volunteer's token is for one account"},
        Case{"ingest " + secret, "ingest PROJECT[,PROJECT] KIND[,KIND] TOKEN"},
        Case{"ingest 1 " + secret, "ingest PROJECT[,PROJECT] KIND[,KIND] TOKEN"},
        Case{"ingest 1 everything " + secret, "kinds: results, members, catalogue"},
        Case{"ingest 1 results", "the token must be 16 to 512"},
        Case{"ingest 1 results a b:" + secret, "the token must be 16 to 512"},
        Case{"read :" + secret, "the name before the token"},
        Case{"read a/b:" + secret, "the name before the token"},
        Case{"read " + std::string(65, 'n') + ":" + secret, "the name before the token"},
        Case{"read n:" + secret + "\nread m:" + secret, "occurs on an earlier line"},
        Case{"read " + secret + "\nread " + secret, "occurs on an earlier line"}}) {
    const auto tokens = Tokens::Parse("\n" + c.line, "tokens.txt");
    ASSERT_FALSE(tokens.ok()) << c.line;
    EXPECT_EQ(tokens.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(tokens.status().message(), HasSubstr(c.problem)) << c.line;
    EXPECT_THAT(tokens.status().message(), HasSubstr("tokens.txt: line ")) << c.line;
    EXPECT_THAT(tokens.status().message(), Not(HasSubstr(secret)));
  }
}

TEST(GatewayTokens, AFileThatOthersCanReadIsRefused) {
  const testing::TempDir dir;
  const std::string path = dir / "tokens";
  std::ofstream(path) << "read " << kReader << "\n";
  for (const auto& [mode, good] : {std::pair<mode_t, bool>{0600, true},
                                   {0400, true},
                                   {0640, true},
                                   {0644, false},
                                   {0602, false},
                                   {0620, false}}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const auto tokens = Tokens::Load(path);
    EXPECT_EQ(tokens.ok(), good) << std::oct << mode;
    if (!good) {
      EXPECT_THAT(tokens.status().message(), HasSubstr("chmod 600"));
    }
  }
  EXPECT_THAT(Tokens::Load(dir / "nothing").status().message(), HasSubstr("cannot be read"));
  EXPECT_THAT(Tokens::Load(dir.path()).status().message(), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace cobblestone::gateway
