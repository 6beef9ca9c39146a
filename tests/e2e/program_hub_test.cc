// `cobblestone hub`: somebody verifies and compares snapshots that they have downloaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "services/hub/snapshot/canonical_text.h"
#include "services/hub/snapshot/writer.h"
#include "tests/e2e/program_process.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::hub {
namespace {

using testing::Finished;
using ::testing::HasSubstr;
using testing::RunProgram;
using testing::TempDir;

SigningKey KeyOf(const TempDir& dir, char byte) {
  const std::string seed(32, byte);
  EVP_PKEY* key = ::EVP_PKEY_new_raw_private_key(
      EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(seed.data()), seed.size());
  const std::string path = dir / (std::string("key-") + byte);
  FILE* file = ::fopen(path.c_str(), "w");
  ::PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
  ::fclose(file);
  ::EVP_PKEY_free(key);
  ::chmod(path.c_str(), 0600);
  auto read = SigningKey::Read("--key", path);
  EXPECT_TRUE(read.ok()) << read.status().message();
  return std::move(*read);
}

Previous Write(const std::string& directory, const SigningKey& key, const std::string& date, Micro total,
               std::optional<Previous> previous = std::nullopt) {
  Manifest head{.hub = "https://hub.example/", .date = date, .previous = previous};
  head.sequence = previous ? previous->sequence + 1 : 1;
  auto writer = SnapshotWriter::Begin(directory, head);
  EXPECT_TRUE(writer->AddProject({.key = "alpha", .name = "Alpha", .since = date}).ok());
  EXPECT_TRUE(writer->AddPart(PartKind::kUsers).ok());
  EXPECT_TRUE(writer->Add(UserRecord{.id = 1, .total = total}).ok());
  const auto published = writer->Publish(key);
  EXPECT_TRUE(published.ok());
  return *published;
}

TEST(ProgramHub, VerifiesASnapshotAndItsChain) {
  const TempDir dir;
  const SigningKey key = KeyOf(dir, 'k');
  const Previous first = Write(dir / "2026-11-26", key, "2026-11-26", 1'000'000);
  Write(dir / "2026-11-27", key, "2026-11-27", 2'000'000, first);
  const std::string hex = ToHex(key.PublicKey());
  const Finished intact = RunProgram(
      dir.path(), {"hub", "verify-snapshot", "2026-11-27", "--previous", "2026-11-26", "--key", hex});
  EXPECT_EQ(intact.code, 0) << intact.err;
  EXPECT_THAT(intact.out, HasSubstr("snapshot 2 of 2026-11-27 by https://hub.example/, key " + hex +
                                    ": intact\n"
                                    "1 projects, 1 records"));
  const Finished alone = RunProgram(dir.path(), {"hub", "verify-snapshot", "2026-11-27"});
  EXPECT_EQ(alone.code, 0);
  EXPECT_THAT(alone.out, HasSubstr("The chain was not checked"));

  std::ofstream(dir / "2026-11-27/alpha.users.jsonl", std::ios::app) << "x";
  const Finished damaged = RunProgram(dir.path(), {"hub", "verify-snapshot", "2026-11-27"});
  EXPECT_EQ(damaged.code, 1);
  EXPECT_THAT(damaged.out, HasSubstr("alpha.users.jsonl: line 2 has no line break: truncated"));
  EXPECT_THAT(damaged.out, HasSubstr("NOT intact"));

  EXPECT_EQ(RunProgram(dir.path(), {"hub", "verify-snapshot", "nowhere"}).code, 3);
  EXPECT_EQ(RunProgram(dir.path(), {"hub", "verify-snapshot", "2026-11-26", "--key", "abc"}).code, 2);
}

TEST(ProgramHub, CountsHowManySnapshotsAgree) {
  const TempDir dir;
  Write(dir / "a", KeyOf(dir, 'a'), "2026-11-27", 1'000'000);
  Write(dir / "b", KeyOf(dir, 'b'), "2026-11-27", 1'000'000);
  Write(dir / "c", KeyOf(dir, 'c'), "2026-11-27", 9'000'000);
  EXPECT_EQ(RunProgram(dir.path(), {"hub", "compare-snapshots", "a", "b"}).code, 0);
  const Finished differ = RunProgram(dir.path(), {"hub", "compare-snapshots", "a", "b", "c"});
  EXPECT_EQ(differ.code, 1) << differ.err;
  EXPECT_THAT(differ.out, HasSubstr("alpha users: 2 of 3 agree\n  a, b: tree "));
  EXPECT_THAT(differ.out, HasSubstr("  c: tree "));
  EXPECT_EQ(RunProgram(dir.path(), {"hub", "compare-snapshots", "a", "b", "c", "--least", "2"}).code, 0);
  EXPECT_EQ(RunProgram(dir.path(), {"hub", "compare-snapshots", "a", "b", "c", "--least", "3"}).code, 1);
  EXPECT_EQ(RunProgram(dir.path(), {"hub", "compare-snapshots", "a", "b", "--least", "3"}).code, 2);
  EXPECT_EQ(RunProgram(dir.path(), {"hub", "compare-snapshots", "a"}).code, 2);
}

}  // namespace
}  // namespace cobblestone::hub
