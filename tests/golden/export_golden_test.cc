// Compares BOINC's own statistics files (export/) with the exported files: every file of every variant.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "services/export/entities_file.h"
#include "tests/golden/export_variants.h"

namespace cobblestone::statistics {

using exports::EntitiesFile;
using exports::Settings;
using exports::Source;

namespace {

namespace fs = std::filesystem;

std::unique_ptr<Source> FromFile(const std::string& path, const Settings& settings) {
  auto entities = EntitiesFile::Open(path, {.statsexport_enabled = settings.statsexport_enabled});
  EXPECT_TRUE(entities.ok()) << entities.status().message();
  if (!entities.ok()) return nullptr;
  EXPECT_TRUE((*entities)->unknown_sections().empty());
  return std::move(*entities);
}

class ExportGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(ExportGolden, EveryFileOfTheVariantIsEqual) { ExpectVariant(GetParam(), FromFile); }

INSTANTIATE_TEST_SUITE_P(Variants, ExportGolden, ::testing::ValuesIn(kVariants),
                         [](const auto& variant) { return std::string(variant.param); });

// Upstream's zip fails after the first table. The archives of all tables must have the content of upstream's files
// without compression.
TEST(ExportGoldenZip, ArchivesHaveTheContentOfTheUncompressedFiles) {
  Published run;
  std::string spec = Bytes(Data("f_none/db_dump.xml"));
  for (std::size_t at = 0; (at = spec.find("<output>", at)) != std::string::npos; at += 8)
    spec.insert(at + 8, "<compression>zip</compression>");
  const std::string spec_path = run.dir / "db_dump.xml";
  std::ofstream(spec_path) << spec;
  ASSERT_NO_FATAL_FAILURE(WriteVariant("f_zip", spec_path, FromFile, run));
  EXPECT_EQ(Content(run.out + "/user.zip"), Bytes(Data("f_zip/user")));
  for (const char* name : {"user", "host", "team", "user_deleted", "host_deleted"}) {
    EXPECT_EQ(RecordsOf(Content(run.out + "/" + name + ".zip")), RecordsOf(Bytes(Data("f_none/") + name)))
        << name;
    EXPECT_FALSE(fs::exists(run.out + "/" + name)) << "the plain file is removed";
  }
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(run.out)) names.insert(entry.path().filename().string());
  EXPECT_EQ(names, (std::set<std::string>{"badge_team.gz", "badge_user.gz", "db_dump.xml", "host.zip",
                                          "host_deleted.zip", "manifest.json", "tables.xml", "team.zip",
                                          "user.zip", "user_deleted.zip"}));
}

}  // namespace
}  // namespace cobblestone::statistics
