// The partitioner matches the table in schemas/README.md, which is the reference for producers in other languages.
#include "common/wire/control/topics.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>

namespace cobblestone::wire {
namespace {

TEST(Topics, TopicsOfTheHistoryAreNeverTrimmed) {
  for (const stream::TopicSpec& topic : Manifest(3)) {
    const bool kept = topic.name == "grants" || topic.name == "postings" || topic.name == "refused" ||
                      topic.name == "control";
    EXPECT_EQ(topic.retention == stream::Retention::kForever, kept) << topic.name;
  }
}

TEST(Topics, ThePartitionerIsTheDocumentedOne) {
  std::ifstream readme(std::string(COBBLESTONE_SOURCE_DIR) + "/schemas/README.md");
  std::string line;
  while (std::getline(readme, line) && line != "| project | id | partitions | z | partition |") continue;
  ASSERT_TRUE(readme) << "the table of examples is missing";
  std::getline(readme, line);  // |---|
  int examples = 0;
  while (std::getline(readme, line) && !line.empty()) {
    std::uint32_t project = 0;
    std::uint64_t id = 0;
    std::uint32_t partitions = 0;
    std::uint64_t z = 0;
    std::uint32_t partition = 0;
    ASSERT_EQ(
        std::sscanf(line.c_str(), "| %" SCNu32 " | %" SCNu64 " | %" SCNu32 " | %" SCNx64 " | %" SCNu32 " |",
                    &project, &id, &partitions, &z, &partition),
        5)
        << line;
    EXPECT_EQ(PartitionOf(ProjectId(project), id, partitions), partition) << line;
    // With 2^32 - 1 partitions the result shows nearly all bits of the upper half of the hash.
    EXPECT_EQ(PartitionOf(ProjectId(project), id, 0xffffffffu), ((z >> 32) * 0xffffffffull) >> 32) << line;
    ++examples;
  }
  EXPECT_GE(examples, 8);
}

}  // namespace
}  // namespace cobblestone::wire
