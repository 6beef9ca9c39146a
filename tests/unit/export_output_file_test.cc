// Files of an export: a gzip stream made of blocks by any number of threads, archives, and errors.
#include "services/export/files/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>

#include "services/export/files/record_file.h"
#include "services/export/workers.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::statistics {

using exports::Compression;
using exports::ContentReader;
using exports::DigestOf;
using exports::FileFigures;
using exports::OutputFile;
using exports::Workers;

namespace {

std::string Bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Unpacked(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  char buffer[1 << 14];
  for (int n = 0; (n = gzread(file, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  int code = Z_OK;
  gzerror(file, &code);
  EXPECT_EQ(code, Z_OK);
  EXPECT_EQ(gzclose(file), Z_OK);
  return text;
}

// Compressible text, in which no block repeats another.
std::string SomeText(std::size_t size) {
  std::mt19937 random(3);
  std::string text;
  while (text.size() < size) text += "<id>" + std::to_string(random() % 1000) + "</id>\n";
  text.resize(size);
  return text;
}

FileFigures Written(const std::string& directory, const std::string& name, Compression compression,
                    int threads, const std::string& text, std::size_t step) {
  Workers workers(threads);
  auto file = OutputFile::Create(directory, name, compression, 1'700'000'000, workers);
  EXPECT_TRUE(file.ok());
  for (std::size_t at = 0; at < text.size(); at += step)
    EXPECT_TRUE((*file)->Append(text.substr(at, step)).ok());
  auto figures = (*file)->Finish();
  EXPECT_TRUE(figures.ok());
  return *figures;
}

TEST(ExportOutputFile, AGzipStreamIsTheSameWithAnyNumberOfThreads) {
  cobblestone::testing::TempDir dir;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 20U,
                                 (std::size_t{1} << 20U) + 1, std::size_t{9'000'000}}) {
    const std::string text = SomeText(size);
    std::string first;
    for (const int threads : {0, 1, 3}) {
      const std::string name = "n" + std::to_string(size) + "_" + std::to_string(threads);
      const FileFigures figures = Written(dir.path(), name, Compression::kGzip, threads, text, 1000);
      EXPECT_EQ(figures.name, name + ".gz");
      EXPECT_EQ(figures.content_bytes, size);
      const std::string path = dir / figures.name;
      const std::string bytes = Bytes(path);
      EXPECT_EQ(bytes.size(), figures.bytes);
      EXPECT_EQ(DigestOf(path)->sha256, figures.sha256);
      EXPECT_TRUE(Unpacked(path) == text);
      if (threads == 0) first = bytes;
      EXPECT_TRUE(bytes == first) << threads << " threads";
    }
  }
}

TEST(ExportOutputFile, ABlockRefersToTheEndOfThePreviousBlock) {
  // The noise is incompressible. The second block compresses it only by a reference to the end of the first block.
  std::mt19937_64 random(1);
  std::string noise;
  for (int i = 0; i < 2500; ++i) noise += static_cast<char>(random());
  std::string text;
  while (text.size() < (1U << 20U)) text += noise;
  cobblestone::testing::TempDir dir;
  const FileFigures one = Written(dir.path(), "one", Compression::kGzip, 0, text, text.size());
  const FileFigures two = Written(dir.path(), "two", Compression::kGzip, 0, text + noise, text.size());
  EXPECT_LT(two.bytes, one.bytes + 1000);
}

TEST(ExportOutputFile, AnArchiveHasOneEntryWithTheWholeText) {
  cobblestone::testing::TempDir dir;
  const std::string text = SomeText(3'000'000);
  const FileFigures figures = Written(dir.path(), "user", Compression::kZip, 0, text, 70'000);
  EXPECT_EQ(figures.name, "user.zip");
  EXPECT_EQ(DigestOf(dir / "user.zip")->sha256, figures.sha256);
  EXPECT_LT(figures.bytes, 1'500'000u);
  auto reader = ContentReader::Open(dir / "user.zip");
  ASSERT_TRUE(reader.ok());
  std::string back;
  for (;;) {
    const auto line = (*reader)->NextLine();
    ASSERT_TRUE(line.ok());
    if (line->empty()) break;
    back += *line;
  }
  EXPECT_TRUE(back == text);
  const auto names =
      std::distance(std::filesystem::directory_iterator(dir.path()), std::filesystem::directory_iterator());
  EXPECT_EQ(names, 1) << "no other file is left";
}

TEST(ExportOutputFile, AnExistingFileAndAMissingDirectoryAreReported) {
  cobblestone::testing::TempDir dir;
  Workers workers(0);
  std::ofstream(dir / "user.gz") << "x";
  const auto existing = OutputFile::Create(dir.path(), "user", Compression::kGzip, 0, workers);
  ASSERT_FALSE(existing.ok());
  EXPECT_EQ(existing.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(existing.status().message(), ::testing::HasSubstr("two outputs of the spec would both write"));
  EXPECT_EQ(OutputFile::Create(dir / "no", "user", Compression::kGzip, 0, workers).status().code(),
            StatusCode::kFatal);
}

TEST(ExportWorkers, UnawaitedJobsEndWithTheWorkers) {
  Workers workers(2);
  for (int i = 0; i < 100; ++i) (void)workers.Start([] {});
  int done = 0;
  const auto job = workers.Start([&] { ++done; });
  workers.Wait(job);
  EXPECT_EQ(done, 1);
}

// A long file has many blocks, so finished jobs must not keep memory.
TEST(ExportWorkers, WithoutThreadsAFinishedJobIsReleased) {
  Workers workers(0);
  std::weak_ptr<int> held;
  {
    const auto block = std::make_shared<int>(0);
    held = block;
    workers.Wait(workers.Start([block] { ++*block; }));
    EXPECT_EQ(*block, 1);
  }
  EXPECT_TRUE(held.expired());
}

}  // namespace
}  // namespace cobblestone::statistics
