// The backups of a directory: names, numbers and leftovers of interrupted backups. The manifest and the file of
// checksums verify each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "services/backup/backup_manifest.h"
#include "services/backup/backup_set.h"
#include "services/backup/copy_file.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::backup {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TempDir;

constexpr double kNoon = 1795694400;  // 2026-11-26 12:00:00 UTC

Result<BackupSet> OpenSet(const std::string& directory, std::string* reported = nullptr) {
  return BackupSet::Open(directory, [reported](const std::string& what) {
    if (reported != nullptr) *reported += what + "\n";
  });
}

// Makes a backup without files and returns its name.
std::string Make(BackupSet& set, double now) {
  EXPECT_TRUE(set.Begin(now).ok());
  const auto made = set.Complete();
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? fs::path(*made).filename().string() : std::string();
}

TEST(BackupSet, NumbersIncreaseDespiteTheClockAndTheOldestAreDeleted) {
  const TempDir dir;
  {
    auto set = OpenSet(dir / "set");
    ASSERT_TRUE(set.ok()) << set.status().message();
    EXPECT_EQ(set->Newest(), "");
    EXPECT_EQ(Make(*set, kNoon), "20261126T120000Z-1");
  }
  auto set = OpenSet(dir / "set");
  ASSERT_TRUE(set.ok()) << set.status().message();
  EXPECT_EQ(Make(*set, kNoon - 86400), "20261125T120000Z-2");
  EXPECT_EQ(Make(*set, kNoon), "20261126T120000Z-3");
  for (int n = 4; n <= 10; ++n) Make(*set, kNoon);
  EXPECT_EQ(set->Newest(), dir / "set/20261126T120000Z-10");
  const auto deleted = set->DeleteOldest(8);
  ASSERT_TRUE(deleted.ok()) << deleted.status().message();
  EXPECT_THAT(*deleted, ElementsAre("20261126T120000Z-1", "20261125T120000Z-2"));
  const auto left = CompleteBackups(dir / "set");
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(left->size(), 8u);
  EXPECT_EQ(left->front(), "20261126T120000Z-3");
  EXPECT_EQ(left->back(), "20261126T120000Z-10");
}

TEST(BackupSet, RemovesOnlyLeftoversOfInterruptedBackups) {
  const TempDir dir;
  for (const char* name : {"20261126T120000Z-1", "20261126T120000Z-2.partial", "20261126T120000Z-3.removed",
                           "mine", "mine.partial", "20261126T120000Z-4.old", "20261126T120000Z-"})
    fs::create_directories(dir / "set/" + name);
  std::string reported;
  auto set = OpenSet(dir / "set", &reported);
  ASSERT_TRUE(set.ok()) << set.status().message();
  EXPECT_THAT(reported, HasSubstr("20261126T120000Z-2.partial was left by a backup that was interrupted"));
  EXPECT_THAT(reported, HasSubstr("20261126T120000Z-3.removed is an old backup"));
  EXPECT_FALSE(fs::exists(dir / "set/20261126T120000Z-2.partial"));
  EXPECT_FALSE(fs::exists(dir / "set/20261126T120000Z-3.removed"));
  for (const char* name : {"mine", "mine.partial", "20261126T120000Z-4.old", "20261126T120000Z-"})
    EXPECT_TRUE(fs::exists(dir / "set/" + name)) << name;
  EXPECT_EQ(Make(*set, kNoon), "20261126T120000Z-4");  // numbers of interrupted backups are not reused
  EXPECT_EQ(OpenSet(dir / "set").status().code(), StatusCode::kFenced);
  EXPECT_TRUE(CompleteBackups(dir / "nowhere")->empty());
}

TEST(BackupSet, AnAbandonedBackupIsDeleted) {
  const TempDir dir;
  auto set = OpenSet(dir / "set");
  ASSERT_TRUE(set.ok());
  const auto begun = set->Begin(kNoon);
  ASSERT_TRUE(begun.ok());
  EXPECT_TRUE(fs::exists(*begun));
  set->Abandon();
  EXPECT_FALSE(fs::exists(*begun));
  EXPECT_EQ(Make(*set, kNoon), "20261126T120000Z-2");
}

TEST(BackupManifest, RoundTripsAndAnyChangedBitIsFound) {
  const TempDir dir;
  BackupManifest manifest{.made_at = "2026-11-26T12:00:00Z",
                          .backend = "embedded",
                          .source = "data",
                          .partitions = 2,
                          .commit = 7,
                          .records = 11,
                          .sources = 1,
                          .state_commits = {3, 4}};
  manifest.files.push_back({.path = "data/log/db/000004.sst",
                            .bytes = 5,
                            .sha256 = std::string(64, 'a'),
                            .source_inode = 12,
                            .source_changed_ns = 1795694400123456789,
                            .linked = true});
  ASSERT_TRUE(WriteManifest(manifest, dir.path()).ok());
  const auto read = ReadManifest(dir.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->commit, 7u);
  EXPECT_EQ(read->state_commits, manifest.state_commits);
  ASSERT_NE(read->Find("data/log/db/000004.sst"), nullptr);
  EXPECT_EQ(read->Find("data/log/db/000004.sst")->source_changed_ns, 1795694400123456789);
  EXPECT_EQ(read->Find("data/log/db/000005.sst"), nullptr);
  EXPECT_EQ(read->bytes(), 5u);

  for (const char* name : {kManifestFile, kSumsFile}) {
    const std::string path = dir / name;
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    const auto size = static_cast<std::streamoff>(fs::file_size(path));
    for (std::streamoff at = 0; at < size; ++at) {
      const auto flip = [&] {
        file.seekg(at);
        const char flipped = static_cast<char>(file.get() ^ 0x01);
        file.seekp(at);
        file.put(flipped);
        file.flush();
      };
      flip();
      EXPECT_EQ(ReadManifest(dir.path()).status().code(), StatusCode::kCorrupted) << name << " at " << at;
      flip();
    }
    ASSERT_TRUE(ReadManifest(dir.path()).ok());
  }
}

// A forged manifest with valid checksums must not make a restore write outside its target directory.
TEST(BackupManifest, MayNotNameAFileOutsideTheBackup) {
  for (const char* path : {"../data/log", "data/../../log", "/etc/passwd", "", "data/.."}) {
    const TempDir dir;
    BackupManifest manifest;
    manifest.files.push_back({.path = path});
    ASSERT_TRUE(WriteManifest(manifest, dir.path()).ok());
    EXPECT_EQ(ReadManifest(dir.path()).status().code(), StatusCode::kCorrupted) << path;
  }
}

TEST(CopyFile, CopiesCountsAndNeverOverwrites) {
  const TempDir dir;
  const std::string text(3'000'000, 'x');
  std::ofstream(dir / "from") << text;
  std::uint64_t counted = 0;
  const auto copied = CopyFile(dir / "from", dir / "to", [&](std::uint64_t bytes) { counted += bytes; });
  ASSERT_TRUE(copied.ok()) << copied.status().message();
  EXPECT_EQ(copied->bytes, text.size());
  EXPECT_EQ(counted, 2 * text.size());  // written and read back
  const auto read = ReadFile(dir / "to", {});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->sha256, copied->sha256);
  EXPECT_EQ(fs::status(dir / "to").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_FALSE(CopyFile(dir / "from", dir / "to", {}).ok());
  EXPECT_EQ(CopyFile(dir / "nothing", dir / "other", {}).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(dir / "other"));
}

}  // namespace
}  // namespace cobblestone::backup
