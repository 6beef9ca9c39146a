// The directory of all snapshots, and the key that signs them.
#include "services/hub/snapshot/archive.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "services/hub/snapshot/manifest.h"
#include "services/hub/snapshot/signature.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::hub {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TempDir;

TEST(Archive, KeepsTheNewestSnapshotsAndForeignFiles) {
  const TempDir dir;
  for (const char* name : {"2026-11-25", "2026-11-26", "2026-11-27", "2026-11-24.partial",
                           "2026-11-23.removed", "notes", "notes.partial"}) {
    fs::create_directory(dir / name);
    std::ofstream(dir / name + "/" + kManifestFile) << "x";
  }
  ASSERT_TRUE(PruneSnapshots(dir.path(), 0).ok());
  EXPECT_THAT(*SnapshotsIn(dir.path()), ElementsAre("2026-11-25", "2026-11-26", "2026-11-27"));
  EXPECT_FALSE(fs::exists(dir / "2026-11-24.partial"));
  EXPECT_FALSE(fs::exists(dir / "2026-11-23.removed"));
  ASSERT_TRUE(PruneSnapshots(dir.path(), 2).ok());
  EXPECT_THAT(*SnapshotsIn(dir.path()), ElementsAre("2026-11-26", "2026-11-27"));
  EXPECT_TRUE(fs::exists(dir / "notes"));
  EXPECT_TRUE(fs::exists(dir / "notes.partial"));
}

TEST(Archive, KnowsWhenTheNewestSnapshotWasPublished) {
  const TempDir dir;
  EXPECT_THAT(*SnapshotsIn(dir / "nowhere"), IsEmpty());
  EXPECT_EQ(PublishedTime(dir.path()), std::nullopt);
  fs::create_directory(dir / "2026-11-27");
  std::ofstream(dir / "2026-11-27/manifest.json") << "x";
  const timespec times[] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1'790'000'000, .tv_nsec = 500'000'000}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (dir / "2026-11-27/manifest.json").c_str(), times, 0), 0);
  EXPECT_EQ(PublishedTime(dir.path()), 1'790'000'000.5);
}

TEST(SigningKey, IsMadeInAPrivateFileAndNeverOverwritten) {
  const TempDir dir;
  const mode_t before = ::umask(0);
  const auto made = SigningKey::Create(dir / "key.pem");
  ::umask(before);
  ASSERT_TRUE(made.ok()) << made.status().message();
  struct stat about {};
  ASSERT_EQ(::stat((dir / "key.pem").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  const auto read = SigningKey::Read("key_file", dir / "key.pem");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->PublicKey(), made->PublicKey());
  EXPECT_TRUE(IsSignedBy(made->PublicKey(), "text", read->Sign("text")));
  EXPECT_THAT(SigningKey::Create(dir / "key.pem").status().message(), HasSubstr("exists already"));
  EXPECT_NE(SigningKey::Create(dir / "other.pem")->PublicKey(), made->PublicKey());
}

}  // namespace
}  // namespace cobblestone::hub
