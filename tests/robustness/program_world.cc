#include "tests/robustness/program_world.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <utility>

namespace cobblestone::testing {

using embedded::Engine;

namespace fs = std::filesystem;

namespace {
constexpr std::uint32_t kPartitions = 4;
}  // namespace

ProgramWorld::ProgramWorld(std::string directory, const TempDir& beside, const std::vector<Event>& events)
    : directory_(std::move(directory)),
      config_(beside / "cobblestone.yaml"),
      source_(beside / "traffic.pb"),
      events_(events) {
  std::ofstream(config_)
      << "data_directory: " << data() << "\npartitions: " << kPartitions
      << "\nthreads: 2\ncommit:\n  interval: 1 ms\n  max_records: 500\nstate:\n  flush_interval: 100 ms\n"
         "checkpoint:\n  interval: 1 s\nmemory:\n  write_buffer: 2 MiB\n";
  WriteTraffic(events, source_);
}

Finished ProgramWorld::Ingest() const {
  return RunProgram(directory_, {"ingest", source_, "--config", config_});
}

void ProgramWorld::FinishAndExpectLikeTheOracle() const {
  {
    Background program(directory_, run());
    ASSERT_TRUE(program.WaitFor("running")) << program.err();
    const Finished ingested = Ingest();
    EXPECT_LE(ingested.code, 1) << ingested.out << ingested.err;  // 1: bad lines of the traffic were reported
    program.Signal(SIGTERM);
    ASSERT_EQ(program.Wait(), 0) << program.err();
  }
  settings::RunSettings settings;
  settings.data_directory = data();
  settings.partitions = kPartitions;
  auto engine = Engine::Open(settings, [](const std::string&) {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  ExpectLikeTheOracle(**engine, events_);
}

std::map<std::string, std::string> ProgramWorld::Files() const {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(data())) {
    if (!entry.is_regular_file() || entry.path() == data() + "/log/LOCK") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

}  // namespace cobblestone::testing
