// Publication replaces all files at once, even if the process dies in between. The next export cleans up
// leftovers.
#include "services/export/files/publish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "common/base/failpoint.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::statistics {

using exports::Publication;
using exports::PublishOptions;

namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Names = std::set<std::string>;

class ExportPublish : public ::testing::Test {
 protected:
  ExportPublish() { ::setenv("TZ", "UTC", 1); }

  PublishOptions Options(std::int64_t now, bool delete_old = false) {
    return {.final_directory = dir_ / "stats",
            .delete_old = delete_old,
            .now = now,
            .report = [this](const std::string& what) { reported_ += what + "\n"; }};
  }
  // An export of one file with the content `what`.
  Status Export(const PublishOptions& options, const std::string& what) {
    auto publication = Publication::Begin(options);
    if (!publication.ok()) return publication.status();
    std::ofstream(publication->directory() + "/user") << what;
    const auto old = publication->Publish();
    if (old.ok()) old_ = *old;
    return old.ok() ? Status::Ok() : old.status();
  }
  std::string ContentOf(const std::string& directory = "stats") {
    std::ifstream file(dir_ / (directory + "/user"));
    std::string text;
    file >> text;
    return text;
  }
  Names NamesIn(const std::string& directory) {
    Names names;
    for (const auto& entry : fs::directory_iterator(directory))
      names.insert(entry.path().filename().string());
    return names;
  }
  // Dies at the failpoint.
  void ExportAndDie(const std::string& failpoint, const std::string& what, bool delete_old = false) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ArmFailpoint(failpoint + ":1");
      (void)Export(Options(2'000'000'000, delete_old), what);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << failpoint << " was not reached";
  }

  cobblestone::testing::TempDir dir_;
  std::string reported_;
  std::string old_;
};

TEST_F(ExportPublish, ThePreviousExportIsRenamedWithATimestamp) {
  ASSERT_TRUE(Export(Options(1'000'000'000), "one").ok());
  EXPECT_EQ(ContentOf(), "one");
  EXPECT_EQ(old_, "");
  ASSERT_TRUE(Export(Options(1'000'000'000), "two").ok());
  ASSERT_TRUE(Export(Options(1'000'000'000), "three").ok());
  EXPECT_EQ(ContentOf(), "three");
  EXPECT_EQ(NamesIn(dir_.path()), (Names{"stats", "stats_2001_9_9_1_46_40", "stats_2001_9_9_1_46_40_2"}));
  EXPECT_EQ(ContentOf("stats_2001_9_9_1_46_40"), "one");
  EXPECT_EQ(ContentOf("stats_2001_9_9_1_46_40_2"), "two");
  EXPECT_EQ(NamesIn(dir_ / "stats"), Names{"user"}) << "the marker file is removed";
}

TEST_F(ExportPublish, OldExportsAreArchivedOrDeleted) {
  fs::create_directory(dir_ / "archive");
  PublishOptions options = Options(1'000'000'000);
  options.archive_directory = dir_ / "archive";
  options.final_directory += "/";
  ASSERT_TRUE(Export(options, "one").ok());
  ASSERT_TRUE(Export(options, "two").ok());
  EXPECT_EQ(NamesIn(dir_ / "archive"), Names{"stats_2001_9_9_1_46_40"});
  ASSERT_TRUE(Export(Options(5, true), "three").ok());
  EXPECT_EQ(ContentOf(), "three");
  EXPECT_EQ(NamesIn(dir_.path()), (Names{"archive", "stats"}));
}

TEST_F(ExportPublish, AnUnpublishedExportIsDeleted) {
  ASSERT_TRUE(Export(Options(1), "one").ok());
  {
    auto publication = Publication::Begin(Options(2));
    ASSERT_TRUE(publication.ok());
    std::ofstream(publication->directory() + "/user") << "two";
  }
  EXPECT_EQ(NamesIn(dir_.path()), Names{"stats"});
  EXPECT_EQ(ContentOf(), "one");
}

TEST_F(ExportPublish, OnlyOneExportRunsAtATime) {
  auto first = Publication::Begin(Options(1));
  ASSERT_TRUE(first.ok());
  const auto second = Publication::Begin(Options(1));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kRetry);
  EXPECT_TRUE(first->Publish().ok());
  EXPECT_TRUE(Export(Options(2), "next").ok());
}

struct Death {
  const char* at;
  const char* published;  // the published content after the death
};

TEST_F(ExportPublish, ADeathLeavesOldOrNewFilesAndTheNextExportCleansUp) {
  for (const bool delete_old : {false, true}) {
    for (const Death& death : {Death{"X1", "old"}, Death{"X2", "new"}, Death{"X3", "new"}}) {
      SCOPED_TRACE(std::string(death.at) + (delete_old ? ", old exports are deleted" : ""));
      fs::remove_all(dir_ / "stats");
      ASSERT_TRUE(Export(Options(1), "old").ok());
      ASSERT_NO_FATAL_FAILURE(ExportAndDie(death.at, "new", delete_old));
      EXPECT_EQ(ContentOf(), death.published);
      ASSERT_TRUE(Export(Options(1'500'000'000, delete_old), "next").ok()) << reported_;
      EXPECT_EQ(ContentOf(), "next");
      EXPECT_EQ(NamesIn(dir_ / "stats"), Names{"user"});
      EXPECT_FALSE(fs::exists(dir_ / "stats.partial"));
      std::multiset<std::string> kept;
      for (const std::string& name : NamesIn(dir_.path())) {
        if (name != "stats") kept.insert(ContentOf(name));
        if (name != "stats") fs::remove_all(dir_ / name);
      }
      std::multiset<std::string> wanted = {"old"};
      if (std::string(death.published) == "new") wanted.insert("new");
      if (delete_old) wanted.clear();
      EXPECT_EQ(kept, wanted) << "no export is lost, and no export is kept twice";
    }
  }
}

TEST_F(ExportPublish, ADeathOfTheVeryFirstExportIsCleanedUpToo) {
  ASSERT_NO_FATAL_FAILURE(ExportAndDie("X2", "new"));
  EXPECT_EQ(ContentOf(), "new");
  ASSERT_TRUE(Export(Options(1'500'000'000), "next").ok());
  EXPECT_EQ(NamesIn(dir_ / "stats"), Names{"user"});
  EXPECT_EQ(ContentOf("stats_2017_7_14_2_40_0"), "new");
}

TEST_F(ExportPublish, ADirectoryNotLeftByAnExportIsNotTouched) {
  fs::create_directory(dir_ / "stats.partial");
  std::ofstream(dir_ / "stats.partial/photo") << "x";
  const Status status = Export(Options(1), "one");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("is not left over from an export; move it away"));
  EXPECT_TRUE(fs::exists(dir_ / "stats.partial/photo"));
}

TEST_F(ExportPublish, UnusableDirectoriesAreReported) {
  PublishOptions options = Options(1);
  options.final_directory = dir_ / "none/stats";
  EXPECT_THAT(Export(options, "x").message(), HasSubstr("no directory " + (dir_ / "none")));
  std::ofstream(dir_ / "file") << "x";
  options.final_directory = dir_ / "file";
  EXPECT_THAT(Export(options, "x").message(), HasSubstr("is not a directory"));
  fs::create_directory_symlink(dir_.path(), dir_ / "link");
  options.final_directory = dir_ / "link";
  EXPECT_THAT(Export(options, "x").message(), HasSubstr("is a link"));
  options.final_directory = "..";
  EXPECT_THAT(Export(options, "x").message(), HasSubstr("cannot be exchanged"));
  options.final_directory = dir_ / "stats";
  options.archive_directory = dir_ / "none";
  EXPECT_THAT(Export(options, "x").message(), HasSubstr("the archive"));
}

// Other users may be able to write to the directory of the export. A link there must not redirect the export or
// make it delete other files.
TEST_F(ExportPublish, ALinkInPlaceOfItsDirectoryIsNotFollowed) {
  fs::create_directory(dir_ / "elsewhere");
  std::ofstream(dir_ / "elsewhere/precious") << "stays";
  std::ofstream(dir_ / "elsewhere/.unfinished") << "";
  fs::create_directory_symlink(dir_ / "elsewhere", dir_ / "stats.partial");
  const Status status = Export(Options(1000), "one");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("is a link"));
  EXPECT_EQ(NamesIn(dir_ / "elsewhere"), (Names{".unfinished", "precious"}));
  EXPECT_FALSE(fs::exists(dir_ / "stats"));
}

TEST_F(ExportPublish, ALinkInLeftoversIsDeletedButNotItsTarget) {
  fs::create_directory(dir_ / "elsewhere");
  std::ofstream(dir_ / "elsewhere/precious") << "stays";
  fs::create_directory(dir_ / "stats.partial");
  std::ofstream(dir_ / "stats.partial/.unfinished") << "";
  fs::create_directory(dir_ / "stats.partial/inner");
  fs::create_directory_symlink(dir_ / "elsewhere", dir_ / "stats.partial/inner/link");
  fs::create_directory_symlink(dir_ / "elsewhere", dir_ / "stats.partial/link");
  ASSERT_TRUE(Export(Options(1000), "one").ok());
  EXPECT_EQ(ContentOf(), "one");
  EXPECT_EQ(NamesIn(dir_ / "elsewhere"), Names{"precious"});
}

TEST_F(ExportPublish, AnExchangedDirectoryIsNotPublished) {
  auto publication = Publication::Begin(Options(1000));
  ASSERT_TRUE(publication.ok()) << publication.status().message();
  fs::rename(dir_ / "stats.partial", dir_ / "taken");
  fs::create_directory(dir_ / "elsewhere");
  fs::create_directory_symlink(dir_ / "elsewhere", dir_ / "stats.partial");
  std::ofstream(publication->directory() + "/user") << "one";
  EXPECT_EQ(NamesIn(dir_ / "elsewhere"), Names{}) << "files are created in the directory that was opened";
  EXPECT_TRUE(fs::exists(dir_ / "taken/user"));
  const auto old = publication->Publish();
  EXPECT_EQ(old.status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(fs::exists(dir_ / "stats"));
}

TEST_F(ExportPublish, AnotherUsersDirectoryIsNotTouched) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  for (const char* name : {"stats.partial", "stats"}) {
    fs::create_directory(dir_ / name);
    std::ofstream(dir_ / name + "/.unfinished") << "";
    std::ofstream(dir_ / name + "/precious") << "stays";
    ASSERT_EQ(::chown((dir_ / name).c_str(), 65534, 65534), 0);
    const Status status = Export(Options(1000), "one");
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name << ": " << status.message();
    EXPECT_TRUE(fs::exists(dir_ / name + "/precious")) << name;
    fs::remove_all(dir_ / "stats.partial");
  }
}

TEST_F(ExportPublish, StatisticsFilesAreReadableWithAnyUmask) {
  const mode_t before = ::umask(077);
  const Status status = Export(Options(1000), "one");
  ::umask(before);
  ASSERT_TRUE(status.ok()) << status.message();
  struct stat about {};
  ASSERT_EQ(::stat((dir_ / "stats").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0755U);
}

}  // namespace
}  // namespace cobblestone::statistics
