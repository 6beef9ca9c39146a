// `demo` compares the grants with BOINC's numbers, and detects differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <httplib.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

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

TEST(ProgramDemo, EveryGrantOfAHistoryHasTheBitsOfBoinc) {
  testing::TempDir dir;
  const Finished demo = RunProgram(dir.path(), {"demo", "--input", kHistory, "--results", "2000"});
  EXPECT_EQ(demo.code, 0) << demo.out << demo.err;
  EXPECT_THAT(demo.out, HasSubstr("1,577 grants compared bit for bit, 0 different"));
  EXPECT_THAT(demo.out, HasSubstr("no problems"));
}

// One bit of one grant differs: the comparison must detect it.
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

// At the end a user at a terminal gets a page at the printed address, with continuing traffic.
TEST(ProgramDemo, KeepsItsPageWithTrafficUntilStopped) {
  testing::TempDir dir;
  testing::UseProgram("/bin/sh");
  testing::Background demo(dir.path(),
                           {"-c", std::string("exec '" COBBLESTONE_PROGRAM "' demo --page --page-rate 200 "
                                              "--results 0 --input '") +
                                      kHistory + "' > out.txt"});
  testing::UseProgram(nullptr);
  std::string url;
  while (url.empty() && demo.Runs()) {
    std::ifstream file(dir / "out.txt");
    for (std::string line; std::getline(file, line);)
      if (const std::size_t at = line.find("http://"); at != std::string::npos && !file.eof())
        url = line.substr(at);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ASSERT_FALSE(url.empty()) << demo.err();
  httplib::Client client(url);
  const auto page = client.Get("/");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  EXPECT_THAT(page->get_header_value("Content-Type"), HasSubstr("text/html"));
  // Results of the third project are granted; BOINC's history is there, too.
  nlohmann::json projects;
  const auto total = [&](std::size_t i) {
    return i < projects.size() ? std::stod(projects[i].value("total", "0")) : 0.0;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(3);
  while (total(2) <= 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const auto reply = client.Get("/api/v1/projects");
    ASSERT_TRUE(reply);
    if (reply->status == 200) projects = nlohmann::json::parse(reply->body)["data"];
  }
  EXPECT_GT(total(2), 0) << projects;
  EXPECT_GT(total(0), 0) << projects;
  demo.Signal(SIGINT);
  EXPECT_EQ(demo.Wait(), 0) << demo.err();
}

}  // namespace
}  // namespace cobblestone
