// A process that is killed while it writes leaves one complete version of its state. The version is not older than
// the last Apply that returned.
//
// The writer is this program in a new process, because RocksDB's threads do not survive a fork. `--write PATH`
// applies versions without end. Each version writes or deletes every key, and the writer reports each version on
// its standard output.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/store/rocksdb/rocksdb_store.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::store {
namespace {

constexpr int kKeys = 1500;

std::string KeyOf(int i) { return "host/" + std::to_string(100000 + i); }

// Key i exists in all versions except every fifth, shifted by i.
bool ExistsIn(std::uint64_t version, int i) { return (version + static_cast<std::uint64_t>(i)) % 5 != 0; }

// The length differs between versions, so that the blocks of different tables do not align.
std::string ValueOf(std::uint64_t version, int i) {
  return std::to_string(version) +
         std::string(static_cast<std::size_t>((version * 7 + static_cast<std::uint64_t>(i)) % 120), '.');
}

std::unique_ptr<Store> Open(const std::string& path) {
  auto store = OpenRocksdbStore({.path = path, .memory = std::make_shared<StoreMemory>(4u << 20)});
  if (!store.ok()) {
    ADD_FAILURE() << store.status().message();
    return nullptr;
  }
  return *std::move(store);
}

// The version of the store; 0 for a new store.
std::uint64_t VersionOf(const Store& store) {
  const auto meta = store.Meta();
  return meta.ok() ? std::strtoull(meta->c_str(), nullptr, 10) : 0;
}

[[noreturn]] void WriteForEver(const std::string& path) {
  const auto store = Open(path);
  if (store == nullptr) ::_exit(3);
  std::vector<std::string> keys;
  for (int i = 0; i < kKeys; ++i) keys.push_back(KeyOf(i));
  for (std::uint64_t version = VersionOf(*store) + 1;; ++version) {
    std::vector<std::string> values;
    for (int i = 0; i < kKeys; ++i) values.push_back(ValueOf(version, i));
    std::vector<Row> rows;
    for (int i = 0; i < kKeys; ++i) {
      const auto n = static_cast<std::size_t>(i);
      rows.push_back({.key = keys[n], .value = values[n], .deleted = !ExistsIn(version, i)});
    }
    if (!store->Apply(rows, std::to_string(version)).ok()) ::_exit(4);
    if (::write(STDOUT_FILENO, &version, sizeof version) != sizeof version) ::_exit(5);
  }
}

struct Writer {
  pid_t pid = 0;
  int reports = -1;

  // The next durable version; 0 if the writer is dead.
  [[nodiscard]] std::uint64_t Next() const {
    std::uint64_t version = 0;
    return ::read(reports, &version, sizeof version) == sizeof version ? version : 0;
  }

  // Returns the last reported version, and checks that a kill ended the writer.
  std::uint64_t Reap(std::uint64_t last) {
    while (const std::uint64_t more = Next()) last = more;
    ::close(reports);
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        << "the writer ended by itself, status " << status;
    return last;
  }
};

Writer Start(const std::string& path, const char* failpoint) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    if (failpoint != nullptr) ::setenv("COBBLESTONE_FAILPOINT", failpoint, 1);
    ::execl("/proc/self/exe", "store_kill_test", "--write", path.c_str(), static_cast<char*>(nullptr));
    ::_exit(6);
  }
  ::close(ends[1]);
  return {pid, ends[0]};
}

// Checks that every key and Meta have the same version, and returns this version.
std::uint64_t CheckOneVersion(const std::string& path) {
  const auto store = Open(path);
  if (store == nullptr) return 0;
  const std::uint64_t version = VersionOf(*store);
  std::string value;
  int scanned = 0;
  const Status s = store->Scan({}, [&](std::string_view, std::string_view) {
    ++scanned;
    return Status::Ok();
  });
  EXPECT_TRUE(s.ok()) << s.message();
  int existing = 0;
  for (int i = 0; i < kKeys && version != 0; ++i) {
    const Status got = store->Get(KeyOf(i), &value);
    if (ExistsIn(version, i)) {
      ++existing;
      EXPECT_TRUE(got.ok() && value == ValueOf(version, i))
          << KeyOf(i) << " is " << value << ", Meta says " << version;
    } else {
      EXPECT_EQ(got.code(), StatusCode::kNotFound) << KeyOf(i) << " should not exist in version " << version;
    }
    if (::testing::Test::HasFailure()) return version;
  }
  EXPECT_EQ(scanned, existing);
  return version;
}

TEST(StoreKill, AtAnyInstantTheStateIsOneVersionAndNotOlderThanReported) {
  const testing::TempDir dir;
  const std::string path = dir / "state";
  std::mt19937 random(20240607);
  std::uint64_t last = 0;
  int ahead = 0;
  for (int round = 0; round < 40; ++round) {
    Writer writer = Start(path, nullptr);
    std::uint64_t reported = 0;
    const int reports = 1 + static_cast<int>(random() % 9);
    for (int i = 0; i < reports; ++i) {
      reported = writer.Next();
      ASSERT_NE(reported, 0u) << "round " << round << ": the writer died by itself";
    }
    // The kill happens during the next Apply or a concurrent merge.
    const auto kill_at = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 6000);
    while (std::chrono::steady_clock::now() < kill_at) {
    }
    ASSERT_EQ(::kill(writer.pid, SIGKILL), 0);
    reported = writer.Reap(reported);
    const std::uint64_t found = CheckOneVersion(path);
    ASSERT_FALSE(HasFailure()) << "round " << round;
    EXPECT_GE(found, reported) << "round " << round << ": a version that Apply had returned from is lost";
    EXPECT_LE(found, reported + 1) << "round " << round;
    EXPECT_GT(found, last) << "round " << round;
    if (found > reported) ++ahead;
    last = found;
  }
  // 40 rounds of about five versions each also include merges.
  EXPECT_GT(last, 100u);
  std::printf("%d of 40 kills fell between an Apply and its report\n", ahead);
}

struct At {
  const char* failpoint;
  std::uint64_t found;     // version found afterwards
  std::uint64_t reported;  // last reported version
};

TEST(StoreKill, TheNewVersionAppliesOnceItsTableIsAdded) {
  for (const At& at :
       {At{"S0:1", 0, 0}, At{"S1:1", 1, 0}, At{"S0:5", 4, 4}, At{"S1:5", 5, 4}, At{"S1:30", 30, 29}}) {
    const testing::TempDir dir;
    Writer writer = Start(dir / "state", at.failpoint);
    EXPECT_EQ(writer.Reap(0), at.reported) << at.failpoint;
    EXPECT_EQ(CheckOneVersion(dir / "state"), at.found) << at.failpoint;
  }
}

}  // namespace
}  // namespace cobblestone::store

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--write") == 0) cobblestone::store::WriteForEver(argv[2]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
