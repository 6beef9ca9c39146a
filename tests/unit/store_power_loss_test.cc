// A power cut: only synced data survives. kill -9 cannot show this, because the operating system keeps the page
// cache.
//
// LossyFiles is a layer between RocksDB and the disk. It records only what a disk guarantees: the bytes of a file
// at its last sync, and the names in a directory at its last sync. The test makes an image from these records at
// every sync. Every image must open as one complete version that is not older than the last Apply that returned.
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "common/store/rocksdb/rocksdb_internal.h"
#include "common/store/rocksdb/rocksdb_store.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::store {
namespace {

namespace fs = std::filesystem;

using rocksdb::FileOptions;
using rocksdb::FSDirectory;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

std::string ContentOf(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

ino_t NumberOf(const fs::path& file) {
  struct stat s {};
  return ::stat(file.c_str(), &s) == 0 ? s.st_ino : 0;
}

// The content of one directory that survives a power cut.
class Disk {
 public:
  using Image = std::map<std::string, std::string>;  // file name -> bytes

  // `never_synced`: the prefix of the names of files that are never synced; used to test this test.
  Disk(fs::path directory, std::string never_synced)
      : directory_(std::move(directory)), never_synced_(std::move(never_synced)) {}

  void FileMade(const fs::path& file) {
    const std::lock_guard lock(mutex_);
    if (InDirectory(file)) synced_[NumberOf(file)].clear();  // the inode number may be that of a deleted file
  }

  void FileSynced(const fs::path& file) {
    const std::lock_guard lock(mutex_);
    if (!InDirectory(file)) return;
    if (never_synced_.empty() || !file.filename().string().starts_with(never_synced_)) {
      synced_[NumberOf(file)] = ContentOf(file);
    }
    TakeImage();
  }

  void DirectorySynced(const fs::path& directory) {
    const std::lock_guard lock(mutex_);
    if (directory.lexically_normal() != directory_) return;
    names_.clear();
    for (const auto& entry : fs::directory_iterator(directory_)) {
      if (entry.is_regular_file()) names_[entry.path().filename().string()] = NumberOf(entry.path());
    }
    TakeImage();
  }

  void Returned(std::uint64_t version) {
    const std::lock_guard lock(mutex_);
    returned_ = version;
    TakeImage();
  }

  struct Moment {
    std::uint64_t returned = 0;  // version of the last Apply that had returned
    Image image;
  };
  std::vector<Moment> Moments() {
    const std::lock_guard lock(mutex_);
    return moments_;
  }

 private:
  bool InDirectory(const fs::path& file) const { return file.parent_path().lexically_normal() == directory_; }

  void TakeImage() {
    Image image;
    for (const auto& [name, number] : names_) {
      const auto synced = synced_.find(number);
      image[name] = synced == synced_.end() ? std::string() : synced->second;
    }
    moments_.push_back({returned_, std::move(image)});
  }

  const fs::path directory_;
  const std::string never_synced_;
  std::mutex mutex_;
  std::map<ino_t, std::string> synced_;
  std::map<std::string, ino_t> names_;
  std::uint64_t returned_ = 0;
  std::vector<Moment> moments_;
};

class WatchedFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WatchedFile(std::unique_ptr<FSWritableFile>&& file, std::string path, Disk& disk)
      : FSWritableFileOwnerWrapper(std::move(file)), path_(std::move(path)), disk_(disk) {}

  IOStatus Sync(const IOOptions& o, IODebugContext* d) override {
    return Seen(FSWritableFileOwnerWrapper::Sync(o, d));
  }
  IOStatus Fsync(const IOOptions& o, IODebugContext* d) override {
    return Seen(FSWritableFileOwnerWrapper::Fsync(o, d));
  }

 private:
  IOStatus Seen(IOStatus s) {
    if (s.ok()) disk_.FileSynced(path_);
    return s;
  }
  const std::string path_;
  Disk& disk_;
};

class WatchedDirectory : public rocksdb::FSDirectoryWrapper {
 public:
  WatchedDirectory(std::unique_ptr<FSDirectory>&& directory, std::string path, Disk& disk)
      : FSDirectoryWrapper(std::move(directory)), path_(std::move(path)), disk_(disk) {}

  IOStatus Fsync(const IOOptions& o, IODebugContext* d) override {
    return Seen(FSDirectoryWrapper::Fsync(o, d));
  }
  IOStatus FsyncWithDirOptions(const IOOptions& o, IODebugContext* d,
                               const rocksdb::DirFsyncOptions& f) override {
    return Seen(FSDirectoryWrapper::FsyncWithDirOptions(o, d, f));
  }

 private:
  IOStatus Seen(IOStatus s) {
    if (s.ok()) disk_.DirectorySynced(path_);
    return s;
  }
  const std::string path_;
  Disk& disk_;
};

class LossyFiles : public rocksdb::FileSystemWrapper {
 public:
  explicit LossyFiles(Disk& disk) : FileSystemWrapper(rocksdb::FileSystem::Default()), disk_(disk) {}

  const char* Name() const override { return "LossyFiles"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file, IODebugContext* debug) override {
    const IOStatus s = FileSystemWrapper::NewWritableFile(path, options, file, debug);
    if (!s.ok()) return s;
    disk_.FileMade(path);
    return Watch(path, file);
  }
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<FSWritableFile>* file, IODebugContext* debug) override {
    const IOStatus s = FileSystemWrapper::ReopenWritableFile(path, options, file, debug);
    return s.ok() ? Watch(path, file) : s;
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<FSDirectory>* directory, IODebugContext* debug) override {
    const IOStatus s = FileSystemWrapper::NewDirectory(path, options, directory, debug);
    if (s.ok()) *directory = std::make_unique<WatchedDirectory>(std::move(*directory), path, disk_);
    return s;
  }

 private:
  IOStatus Watch(const std::string& path, std::unique_ptr<FSWritableFile>* file) {
    *file = std::make_unique<WatchedFile>(std::move(*file), path, disk_);
    return IOStatus::OK();
  }
  Disk& disk_;
};

constexpr int kKeys = 60;
constexpr std::uint64_t kVersions = 45;  // three merges

struct Outcome {
  int images = 0;
  int damaged = 0;  // does not open, or has rows of several versions
  int lost = 0;     // older than the last Apply that returned
  std::string first_complaint;
};

// Applies the versions on a disk, then opens the image of every possible power cut.
Outcome CutThePowerEverywhere(const std::string& never_synced) {
  const testing::TempDir dir;
  const auto memory = std::make_shared<StoreMemory>(4u << 20);
  Disk disk(fs::path(dir / "state").lexically_normal(), never_synced);
  {
    const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(std::make_shared<LossyFiles>(disk));
    auto store = OpenRocksdbStoreOn({.path = dir / "state", .memory = memory}, env.get());
    EXPECT_TRUE(store.ok()) << store.status().message();
    for (std::uint64_t version = 1; version <= kVersions; ++version) {
      const std::string value = std::to_string(version);
      std::vector<std::string> keys;
      for (int i = 0; i < kKeys; ++i) keys.push_back("k" + std::to_string(100 + i));
      std::vector<Row> rows;
      for (const std::string& key : keys) rows.push_back({.key = key, .value = value});
      const Status s = (*store)->Apply(rows, value);
      EXPECT_TRUE(s.ok()) << s.message();
      disk.Returned(version);
    }
  }

  Outcome outcome;
  std::map<std::string, std::string> last;
  std::uint64_t last_returned = 0;
  for (const Disk::Moment& moment : disk.Moments()) {
    if (moment.image == last && moment.returned == last_returned) continue;
    last = moment.image;
    last_returned = moment.returned;
    ++outcome.images;
    const fs::path path = dir / "image";
    fs::remove_all(path);
    fs::create_directory(path);
    for (const auto& [name, bytes] : moment.image) std::ofstream(path / name, std::ios::binary) << bytes;

    std::string complaint;
    std::uint64_t version = 0;
    auto store = OpenRocksdbStore({.path = path.string(), .memory = memory});
    if (!store.ok()) {
      complaint = store.status().message();
    } else {
      const auto meta = (*store)->Meta();
      version = meta.ok() ? std::strtoull(meta->c_str(), nullptr, 10) : 0;
      int rows = 0;
      const Status s = (*store)->Scan({}, [&](std::string_view key, std::string_view value) {
        ++rows;
        if (value != std::to_string(version))
          complaint = std::string(key) + " is of version " + std::string(value);
        return Status::Ok();
      });
      if (!s.ok()) complaint = s.message();
      if (rows != (version == 0 ? 0 : kKeys)) complaint += " rows " + std::to_string(rows);
    }
    if (!complaint.empty()) ++outcome.damaged;
    if (complaint.empty() && version < moment.returned) {
      ++outcome.lost;
      complaint = "version " + std::to_string(version) + " although " + std::to_string(moment.returned) +
                  " had returned";
    }
    if (!complaint.empty() && outcome.first_complaint.empty()) outcome.first_complaint = complaint;
  }
  return outcome;
}

TEST(StorePowerLoss, EveryImageIsOneVersionAndNoReturnedApplyIsLost) {
  const Outcome outcome = CutThePowerEverywhere("");
  EXPECT_EQ(outcome.damaged, 0) << outcome.first_complaint;
  EXPECT_EQ(outcome.lost, 0) << outcome.first_complaint;
  EXPECT_GT(outcome.images, 2 * static_cast<int>(kVersions));
  std::printf("%d power cuts\n", outcome.images);
}

// The test of the test: a disk that loses synced data of one kind of file must be detected.
TEST(StorePowerLoss, ADiskThatForgetsAKindOfFileIsDetected) {
  const Outcome manifest = CutThePowerEverywhere("MANIFEST");
  EXPECT_GT(manifest.damaged + manifest.lost, 0);
  const Outcome tables = CutThePowerEverywhere("0");  // such as 000012.sst
  EXPECT_GT(tables.damaged + tables.lost, 0);
}

}  // namespace
}  // namespace cobblestone::store
