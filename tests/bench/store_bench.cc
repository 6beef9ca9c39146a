// Writes of state: the store adds a whole table file; the usual method writes a WriteBatch into a memtable and
// flushes it. Both are durable on return, and both leave compaction to one background thread, whose work is
// counted.
//
// Rows have 400 B. First all keys are written. Then each iteration updates a random tenth to fifth of them. The
// benchmark waits for the end of compaction between two iterations, because compaction ends in the seconds between
// two flushes of state.
//   rows/s        rows written per second of Apply, on the caller's thread
//   cpu_us/row    CPU of the whole process, with compaction
//   write_amp     bytes written to the disk per byte of rows, with compaction (needs /proc/self/io)
//   disk_x        most bytes on disk after an iteration per byte of live data
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <rocksdb/db.h>

#include "common/base/check.h"
#include "common/store/rocksdb/rocksdb_internal.h"
#include "common/store/rocksdb/rocksdb_store.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::store {
namespace {

constexpr std::size_t kValueBytes = 384;
constexpr std::size_t kRowBytes = kValueBytes + 16;

double CpuSeconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

double WrittenBytes() {
  std::ifstream io("/proc/self/io");
  std::string name;
  for (double value = 0; io >> name >> value;) {
    if (name == "write_bytes:") return value;
  }
  return 0;
}

std::string KeyOf(std::uint64_t i) {
  std::string key = "claims-h";  // stage, project, then the number, the highest byte first
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(i >> shift));
  return key;
}

// One method to write rows, durable on return.
class Method {
 public:
  virtual ~Method() = default;
  virtual void Write(const std::vector<Row>& rows, std::string_view meta) = 0;
  [[nodiscard]] virtual std::uint64_t disk_bytes() const = 0;
  virtual void Read(const std::string& key, std::string* value) = 0;
};

class AddedTable : public Method {
 public:
  explicit AddedTable(const std::string& path) {
    auto opened = OpenRocksdbStore({.path = path, .memory = std::make_shared<StoreMemory>(256u << 20)});
    COBBLESTONE_CHECK(opened.ok(), opened.status().message());
    store_ = *std::move(opened);
  }
  void Write(const std::vector<Row>& rows, std::string_view meta) override {
    const Status s = store_->Apply(rows, meta);
    COBBLESTONE_CHECK(s.ok(), s.message());
  }
  std::uint64_t disk_bytes() const override { return store_->disk_bytes(); }
  void Read(const std::string& key, std::string* value) override {
    const Status s = store_->Get(key, value);
    COBBLESTONE_CHECK(s.ok(), s.message());
  }

 private:
  std::unique_ptr<Store> store_;
};

class BatchAndFlush : public Method {
 public:
  explicit BatchAndFlush(const std::string& path) : memory_(256u << 20) {
    rocksdb::Options options = TunedOptions(memory_);
    options.create_if_missing = true;
    options.write_buffer_size = std::size_t{4} << 30;  // a full memtable must not split a batch
    rocksdb::DB* db = nullptr;
    const rocksdb::Status s = rocksdb::DB::Open(options, path, &db);
    COBBLESTONE_CHECK(s.ok(), s.ToString());
    db_.reset(db);
  }
  void Write(const std::vector<Row>& rows, std::string_view meta) override {
    rocksdb::WriteBatch batch;
    rocksdb::Status s = batch.Put(rocksdb::Slice(kMetaKey.data(), kMetaKey.size()), std::string(meta));
    std::string value;
    for (const Row& row : rows) {
      value.assign(row.value);
      AppendChecksum(row.key, &value);
      if (s.ok()) s = batch.Put(rocksdb::Slice(row.key.data(), row.key.size()), value);
    }
    rocksdb::WriteOptions unlogged;
    unlogged.disableWAL = true;
    if (s.ok()) s = db_->Write(unlogged, &batch);
    if (s.ok()) s = db_->Flush(rocksdb::FlushOptions());
    COBBLESTONE_CHECK(s.ok(), s.ToString());
  }
  std::uint64_t disk_bytes() const override {
    std::uint64_t bytes = 0;
    db_->GetIntProperty(rocksdb::DB::Properties::kTotalSstFilesSize, &bytes);
    return bytes;
  }
  void Read(const std::string& key, std::string* value) override {
    const rocksdb::Status s = db_->Get(rocksdb::ReadOptions(), key, value);
    COBBLESTONE_CHECK(s.ok(), s.ToString());
  }

 private:
  StoreMemory memory_;
  std::unique_ptr<rocksdb::DB> db_;
};

// Waits until the process has used almost no CPU for 100 ms, so that the compaction of an iteration is counted
// with it.
void AwaitCompaction() {
  double last = CpuSeconds();
  for (int quiet = 0; quiet < 10;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const double now = CpuSeconds();
    quiet = now - last < 0.0001 ? quiet + 1 : 0;
    last = now;
  }
}

std::vector<Row> RowsOf(const std::vector<std::string>& keys, const std::vector<std::uint64_t>& chosen,
                        std::string_view value) {
  std::vector<Row> rows;
  rows.reserve(chosen.size());
  for (const std::uint64_t i : chosen) rows.push_back({.key = keys[i], .value = value});
  return rows;
}

template <class W>
void UpdateState(benchmark::State& state) {
  const auto all = static_cast<std::uint64_t>(state.range(0));
  const auto changed = static_cast<std::uint64_t>(state.range(1));
  const testing::TempDir dir;
  W method(dir / "state");
  std::mt19937_64 random(1);
  std::vector<std::string> keys;
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t i = 0; i < all; ++i) {
    keys.push_back(KeyOf(i));
    chosen.push_back(i);
  }
  std::string value(kValueBytes, '\0');
  method.Write(RowsOf(keys, chosen, value), "0");
  AwaitCompaction();

  double rows_written = 0;
  double seconds = 0;
  double slowest = 0;
  double most_on_disk = 0;
  const double cpu_before = CpuSeconds();
  const double written_before = WrittenBytes();
  double cpu_making_rows = 0;
  for (auto _ : state) {
    const double making = CpuSeconds();
    chosen.clear();
    for (std::uint64_t i = 0; i < changed; ++i) chosen.push_back(random() % all);
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    for (char& c : value) c = static_cast<char>(random());
    const std::vector<Row> rows = RowsOf(keys, chosen, value);
    cpu_making_rows += CpuSeconds() - making;
    const auto start = std::chrono::steady_clock::now();
    method.Write(rows, "1");
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    state.SetIterationTime(took);
    seconds += took;
    slowest = std::max(slowest, took);
    rows_written += static_cast<double>(rows.size());
    AwaitCompaction();
    most_on_disk = std::max(most_on_disk, static_cast<double>(method.disk_bytes()));
  }
  const double cpu = CpuSeconds() - cpu_before - cpu_making_rows;
  const double written = WrittenBytes() - written_before;

  constexpr int kReads = 50000;
  std::string read;
  const double cpu_before_reads = CpuSeconds();
  for (int i = 0; i < kReads; ++i) method.Read(keys[random() % all], &read);
  state.counters["get_cpu_us"] = (CpuSeconds() - cpu_before_reads) / kReads * 1e6;
  state.counters["rows/s"] = rows_written / seconds;
  state.counters["cpu_us/row"] = cpu / rows_written * 1e6;
  state.counters["slowest_ms"] = slowest * 1e3;
  state.counters["write_amp"] = written / (rows_written * static_cast<double>(kRowBytes));
  state.counters["disk_x"] = most_on_disk / (static_cast<double>(all) * static_cast<double>(kRowBytes));
}

void Shapes(benchmark::internal::Benchmark* b) {
  b->Args({100000, 20000})->Args({1000000, 100000});
  b->ArgNames({"keys", "changed"})->Iterations(48)->UseManualTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK_TEMPLATE(UpdateState, AddedTable)->Apply(Shapes);
BENCHMARK_TEMPLATE(UpdateState, BatchAndFlush)->Apply(Shapes);

// The time to open an existing state.
void OpenState(benchmark::State& state) {
  const testing::TempDir dir;
  const auto all = static_cast<std::uint64_t>(state.range(0));
  {
    AddedTable method(dir / "state");
    std::vector<std::string> keys;
    for (std::uint64_t i = 0; i < all; ++i) keys.push_back(KeyOf(i));
    const std::string value(kValueBytes, 'v');
    for (std::uint64_t part = 0; part < 10; ++part) {
      std::vector<Row> rows;
      for (std::uint64_t i = part; i < all; i += 10) rows.push_back({.key = keys[i], .value = value});
      method.Write(rows, "1");
    }
  }
  for (auto _ : state) {
    const AddedTable method(dir / "state");
    benchmark::DoNotOptimize(method.disk_bytes());
  }
}
BENCHMARK(OpenState)->Arg(100000)->Arg(1000000)->ArgName("keys")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cobblestone::store
