// The cost of the embedded log: appends with a synced write each, reads, an open after kill -9, the index by key.
//   raw_MB/s   payload before compression       cpu_ms/MB   CPU of the whole process for a raw megabyte
//   write_amp  bytes written to the disk for a raw byte (Linux, /proc/self/io), with all flushes
// Environment variables: COBBLESTONE_BENCH_MB is the size of each run (default 512), COBBLESTONE_BENCH_DIR the
// directory (default: one for temporary files), COBBLESTONE_BENCH_ENTRIES the number of indexed entries (default
// 10^6).
#include <benchmark/benchmark.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/stream/bytes.h"
#include "common/stream/embedded/indexed_log.h"
#include "common/stream/embedded/log.h"
#include "common/stream/index/topic_index.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::stream::embedded {
namespace {

using Clock = std::chrono::steady_clock;

constexpr TopicIndex kTrimmedTopic = 0;
constexpr TopicIndex kLedgerTopic = 1;
constexpr std::uint32_t kPartitions = 8;
constexpr std::size_t kRecordBytes = 110;

std::uint64_t Setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

LogOptions Options(const std::string& path) {
  LogOptions options;
  options.path = path;
  options.topics = {{.name = "claims", .partitions = kPartitions, .retention = Retention::kTrimmed},
                    {.name = "grants", .partitions = kPartitions, .retention = Retention::kForever}};
  options.write_buffer_bytes = Setting("COBBLESTONE_BENCH_BUFFER_MB", options.write_buffer_bytes >> 20) << 20;
  return options;
}

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::uint64_t WrittenBytes() {
  std::ifstream io("/proc/self/io");
  std::string name;
  for (std::uint64_t value = 0; io >> name >> value;) {
    if (name == "write_bytes:") return value;
  }
  return 0;
}

double Seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

// Records like those of a stage: increasing ids and times, a few different doubles. They compress to about half.
class Claims {
 public:
  std::string Payload(std::size_t bytes, std::uint32_t* count) {
    std::string payload;
    payload.reserve(bytes + kRecordBytes);
    *count = 0;
    char record[kRecordBytes] = {};
    while (payload.size() < bytes) {
      ++result_;
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      StoreNumber(record, std::uint64_t{0x0100000001});
      StoreNumber(record + 8, result_);
      StoreNumber(record + 16, result_ / 2);
      StoreNumber(record + 24, random_ >> 44);
      StoreNumber(record + 32, 1.7e9 + static_cast<double>(result_) * 1e-3);
      for (std::size_t at = 40; at < 72; at += 8) {
        random_ = random_ * 6364136223846793005u + 1442695040888963407u;
        StoreNumber(record + at, 1.0 + static_cast<double>(random_ >> 11) * 0x1p-53);
      }
      AppendRecord(payload, {record, kRecordBytes});
      ++*count;
    }
    return payload;
  }

 private:
  std::uint64_t result_ = 0;
  std::uint64_t random_ = 1;
};

// Units of `unit_bytes`, in `outputs` partitions of both topics each.
class Units {
 public:
  Units(std::size_t unit_bytes, std::uint32_t outputs) {
    Claims claims;
    for (int i = 0; i < 16; ++i) {
      LogUnit unit;
      for (std::uint32_t o = 0; o < outputs; ++o) {
        LogOutput output;
        output.where = {o % 2 == 0 ? kTrimmedTopic : kLedgerTopic,
                        (o / 2 + static_cast<std::uint32_t>(i)) % kPartitions};
        output.payload = claims.Payload(unit_bytes / outputs, &output.count);
        unit.outputs.push_back(std::move(output));
      }
      units_.push_back(std::move(unit));
    }
  }
  // A copy, because a worker builds each unit from new memory.
  LogUnit Next() { return units_[next_++ % units_.size()]; }

 private:
  std::vector<LogUnit> units_;
  std::size_t next_ = 0;
};

std::string BenchDir() {
  const char* dir = std::getenv("COBBLESTONE_BENCH_DIR");
  return dir != nullptr ? dir : "";
}

class BenchPlace {
 public:
  [[nodiscard]] std::string path() const { return BenchDir().empty() ? temp_ / "log" : BenchDir() + "/log"; }
  ~BenchPlace() {
    std::error_code ignored;  // the next run opens and removes it
    std::filesystem::remove_all(path(), ignored);
  }

 private:
  testing::TempDir temp_;
};

std::unique_ptr<Log> OpenLog(const LogOptions& options) {
  auto log = Log::Open(options);
  COBBLESTONE_CHECK(log.ok(), log.status().message());
  return *std::move(log);
}

void BM_Append(benchmark::State& state) {
  const auto unit_bytes = static_cast<std::size_t>(state.range(0)) << 10;
  const bool trims = state.range(1) != 0;
  const std::uint64_t total = Setting("COBBLESTONE_BENCH_MB", 512) << 20;
  for (auto _ : state) {
    const BenchPlace place;
    Units units(unit_bytes, 8);
    auto log = OpenLog(Options(place.path()));
    const double cpu = CpuSeconds();
    const std::uint64_t written = WrittenBytes();
    const Clock::time_point start = Clock::now();
    std::uint64_t ticket = 0;
    std::uint64_t appended = 0;
    for (; appended < total; appended += unit_bytes) {
      LogUnit unit = units.Next();
      std::vector<TopicPartition> places;
      for (const LogOutput& output : unit.outputs) places.push_back(output.where);
      ticket = log->Append(std::move(unit));
      for (const TopicPartition& where : places) {
        log->Consumed(where, log->End(where));
        if (trims && where.topic == kTrimmedTopic && appended % (64u << 20) < unit_bytes) {
          log->Trim(where, log->DurableEnd(where));
        }
      }
    }
    log->WaitDurable(ticket);
    const double took = Seconds(Clock::now() - start);
    const LogCounters counters = log->counters();
    state.SetIterationTime(took);
    log.reset();  // flushes in the background end here
    const auto megabytes = static_cast<double>(appended) / 1e6;
    state.counters["raw_MB/s"] = megabytes / took;
    state.counters["records/s"] = static_cast<double>(counters.records) / took;
    state.counters["syncs"] = static_cast<double>(counters.syncs);
    state.counters["sync_ms"] =
        static_cast<double>(counters.sync_nanos) * 1e-6 / static_cast<double>(counters.syncs);
    state.counters["stored/raw"] =
        static_cast<double>(counters.stored_bytes) / static_cast<double>(counters.raw_bytes);
    state.counters["cpu_ms/MB"] = (CpuSeconds() - cpu) * 1e3 / megabytes;
    state.counters["write_amp"] =
        static_cast<double>(WrittenBytes() - written) / static_cast<double>(appended);
  }
}
BENCHMARK(BM_Append)
    ->ArgNames({"KB", "trim"})
    ->Args({64, 0})
    ->Args({256, 0})
    ->Args({1024, 0})
    ->Args({4096, 0})
    ->Args({1024, 1})
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Reads a topic of 128 MB from its beginning, from memory or from files in the operating system's cache.
void BM_Read(benchmark::State& state) {
  const BenchPlace place;
  LogOptions options = Options(place.path());
  options.tail_bytes = state.range(0) != 0 ? std::uint64_t{1} << 40 : 0;
  Units units(1u << 20, 8);
  auto log = OpenLog(options);
  std::uint64_t ticket = 0;
  for (int i = 0; i < 256; ++i) ticket = log->Append(units.Next());
  log->WaitDurable(ticket);
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    for (std::uint32_t partition = 0; partition < kPartitions; ++partition) {
      const TopicPartition where{kLedgerTopic, partition};
      for (std::uint64_t at = 0; at < log->End(where);) {
        const auto batch = log->Read(where, at);
        COBBLESTONE_CHECK(batch.ok(), batch.status().message());
        at = (*batch)->end();
        bytes += (*batch)->payload.size();
      }
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(BM_Read)->ArgName("memory")->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);

// --fill DIR MB: writes a log until the process is killed, and prints "filled" when MB are durable.
int Fill(const std::string& path, std::uint64_t megabytes) {
  Units units(1u << 20, 8);
  auto log = OpenLog(Options(path));
  for (std::uint64_t i = 0;; ++i) {
    LogUnit unit = units.Next();
    std::vector<TopicPartition> places;
    for (const LogOutput& output : unit.outputs) places.push_back(output.where);
    const std::uint64_t ticket = log->Append(std::move(unit));
    for (const TopicPartition& where : places) log->Consumed(where, log->End(where));
    if (i == megabytes) {
      log->WaitDurable(ticket);
      std::puts("filled");
      std::fflush(stdout);
    }
  }
}

void BM_OpenAfterKill(benchmark::State& state) {
  const std::uint64_t megabytes =
      Setting("COBBLESTONE_BENCH_MB", 512) * static_cast<std::uint64_t>(state.range(0));
  for (auto _ : state) {
    const BenchPlace place;
    int ends[2];
    COBBLESTONE_CHECK_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      const std::string path = place.path();
      const std::string size = std::to_string(megabytes);
      ::execl("/proc/self/exe", "log_bench", "--fill", path.c_str(), size.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    char filled[6];
    COBBLESTONE_CHECK_EQ(::read(ends[0], filled, sizeof filled), 6);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ends[0]);
    std::uint64_t wal_bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(place.path() + "/db")) {
      if (entry.path().extension() == ".log") wal_bytes += entry.file_size();
    }
    const Clock::time_point start = Clock::now();
    auto log = OpenLog(Options(place.path()));
    state.SetIterationTime(Seconds(Clock::now() - start));
    state.counters["log_MB"] = static_cast<double>(log->disk_bytes()) / 1e6;
    state.counters["wal_MB"] = static_cast<double>(wal_bytes) / 1e6;
  }
}
BENCHMARK(BM_OpenAfterKill)
    ->ArgName("times")
    ->Arg(1)
    ->Arg(4)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Entries with the keys of grants: project, result. The results are not in order.
void BM_KeyIndex(benchmark::State& state) {
  const std::uint64_t entries = Setting("COBBLESTONE_BENCH_ENTRIES", 1'000'000);
  const auto key_of = [](std::uint64_t result) {
    std::string key;
    AppendOrdered(key, std::uint32_t{1});
    AppendOrdered(key, result);
    return key;
  };
  // A permutation of each window of 2^20 numbers, in which neighbours are far apart, as among open workunits.
  const auto result_of = [](std::uint64_t i) {
    return (i & ~std::uint64_t{0xfffff}) | ((i * 0x9e3779b1u) & 0xfffff);
  };
  for (auto _ : state) {
    const BenchPlace place;
    auto log = OpenLog(Options(place.path()));
    std::uint64_t ticket = 0;
    for (std::uint64_t i = 0; i < entries;) {
      LogUnit unit;
      for (std::uint32_t partition = 0; partition < kPartitions; ++partition) {
        LogOutput output{.where = {kLedgerTopic, partition}};
        for (int n = 0; n < 500; ++n, ++i, ++output.count) AppendRecord(output.payload, key_of(result_of(i)));
        unit.outputs.push_back(std::move(output));
      }
      ticket = log->Append(std::move(unit));
    }
    log->WaitDurable(ticket);

    KeyIndexOptions options;
    options.path = place.path() + "/index";
    options.name = "bench";
    options.topic = kLedgerTopic;
    options.partitions = kPartitions;
    options.keys = [](std::string_view record, const AddKey& add) { add(record); };
    options.follow_every = std::chrono::hours(1);
    const double cpu = CpuSeconds();
    const Clock::time_point start = Clock::now();
    auto opened = KeyIndex::Open(MakeIndexedLog(*log), options);
    COBBLESTONE_CHECK(opened.ok(), opened.status().message());
    const std::unique_ptr<KeyIndex> index = *std::move(opened);
    COBBLESTONE_CHECK(index->Flush().ok(), index->health().message());
    const double took = Seconds(Clock::now() - start);
    state.SetIterationTime(took);
    state.counters["cpu_us/entry"] = (CpuSeconds() - cpu) * 1e6 / static_cast<double>(entries);
    state.counters["bytes/entry"] = static_cast<double>(index->disk_bytes()) / static_cast<double>(entries);
    constexpr int kLookups = 2000;
    const Clock::time_point first = Clock::now();
    for (std::uint64_t i = 0; i < kLookups; ++i) {
      const auto places = index->Find(key_of(result_of(i * 7919 % entries)));
      COBBLESTONE_CHECK(places.ok() && places->size() == 1, "the index does not have a key exactly once");
    }
    state.counters["lookup_us"] = Seconds(Clock::now() - first) * 1e6 / kLookups;
  }
}
BENCHMARK(BM_KeyIndex)->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cobblestone::stream::embedded

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--fill") == 0) {
    return cobblestone::stream::embedded::Fill(argv[2], std::strtoull(argv[3], nullptr, 10));
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
