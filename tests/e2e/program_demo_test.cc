// `demo` compares with BOINC's numbers, and can tell when they differ.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "services/boinc/line_file.h"
#include "tests/e2e/program_process.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {
namespace {

using testing::Finished;
using ::testing::HasSubstr;
using testing::RunProgram;

constexpr const char* kHistory = COBBLESTONE_SOURCE_DIR "/tests/golden/data/s03_cpu_gpu.in.jsonl.gz";
constexpr const char* kExact = COBBLESTONE_SOURCE_DIR "/tests/golden/data/s03_cpu_gpu.exact.jsonl.gz";

TEST(ProgramDemo, EveryGrantOfAHistoryHasTheBitsOfBoincs) {
  testing::TempDir dir;
  const Finished demo = RunProgram(dir.path(), {"demo", "--input", kHistory, "--results", "2000"});
  EXPECT_EQ(demo.code, 0) << demo.out << demo.err;
  EXPECT_THAT(demo.out, HasSubstr("1,577 grants compared bit for bit, 0 different"));
  EXPECT_THAT(demo.out, HasSubstr("no problem"));
}

// One bit of one grant: the comparison must find it.
TEST(ProgramDemo, OneBitOfDifferenceIsFound) {
  testing::TempDir dir;
  auto file = boinc::LineFile::Open(kExact);
  ASSERT_TRUE(file.ok());
  std::ofstream changed(dir / "changed.jsonl");
  std::string line;
  bool found = false;
  for (bool more = true;;) {
    ASSERT_TRUE(file->Next(&line, &more).ok());
    if (!more) break;
    const std::string field = "\"granted_credit\":";
    const std::size_t at = line.find(field);
    if (!found && at != std::string::npos && line.find("\"validate_state\":1") < at) {
      const std::size_t begin = at + field.size();
      const std::size_t end = line.find(',', begin);
      nlohmann::json value = nlohmann::json::parse(line.substr(begin, end - begin));
      value = std::nextafter(value.get<double>(), 1e300);
      line.replace(begin, end - begin, value.dump());
      found = true;
    }
    changed << line << '\n';
  }
  changed.close();
  ASSERT_TRUE(found);
  const Finished demo = RunProgram(
      dir.path(), {"demo", "--input", kHistory, "--expected", dir / "changed.jsonl", "--results", "0"});
  EXPECT_EQ(demo.code, 1) << demo.out << demo.err;
  EXPECT_THAT(demo.out, HasSubstr("1 different"));
}

}  // namespace
}  // namespace cobblestone
