#include "services/backup/copy_file.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "common/base/thread.h"
#include "services/export/files/digest.h"

namespace cobblestone::backup {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = 1u << 20;
constexpr std::uint64_t kSyncEvery = 8u << 20;
constexpr int kNice = 15;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

Status CannotRead(const std::string& path) {
  const int error = errno;
  const std::string message = "cannot read " + path + ": " + std::strerror(error);
  if (error == ENOENT) return Status::NotFound(message);
  return Status::Fatal(message + "; check the disk and the permissions");
}

Status CannotWrite(const std::string& path) {
  const int error = errno;
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return Status::Unwritten(
      full ? ENOSPC : error,
      "cannot write " + path + ": " + std::strerror(error) +
          (full ? "; free disk space there and run the command again" : "; check the disk"));
}

// Reads to the end. `visit` returns a status other than ok to stop.
Status ReadPieces(int file, const std::string& path, const BytesRead& progress,
                  const std::function<Status(std::string_view)>& visit) {
  std::vector<char> piece(kPiece);
  for (;;) {
    const ssize_t got = ::read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(path);
    if (got == 0) return Status::Ok();
    if (Status s = visit({piece.data(), static_cast<std::size_t>(got)}); !s.ok()) return s;
    if (progress) progress(static_cast<std::uint64_t>(got));
  }
}

// Written, counted and synced by portions.
class Writer {
 public:
  Writer(int file, const std::string& path) : file_(file), path_(path) {}

  Status Add(std::string_view bytes) {
    sum_.Add(bytes);
    while (!bytes.empty()) {
      const ssize_t put = ::write(file_, bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return CannotWrite(path_);
      bytes.remove_prefix(static_cast<std::size_t>(put));
      bytes_ += static_cast<std::uint64_t>(put);
    }
    return bytes_ - synced_ < kSyncEvery ? Status::Ok() : Sync();
  }
  Result<FileCopy> Finish() {
    if (Status s = Sync(); !s.ok()) return s;
    return FileCopy{.bytes = bytes_, .sha256 = sum_.Finish()};
  }

 private:
  Status Sync() {
    if (::fdatasync(file_) != 0) return CannotWrite(path_);
    // Advice: pages that stay are read back from memory, which is the most that such a system can do.
    (void)::posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED);
    synced_ = bytes_;
    return Status::Ok();
  }

  const int file_;
  const std::string& path_;
  exports::Sha256 sum_;
  std::uint64_t bytes_ = 0;
  std::uint64_t synced_ = 0;
};

Result<FileCopy> SumOf(int file, const std::string& path, const BytesRead& progress) {
  exports::Sha256 sum;
  FileCopy read;
  Status s = ReadPieces(file, path, progress, [&](std::string_view bytes) {
    sum.Add(bytes);
    read.bytes += bytes.size();
    return Status::Ok();
  });
  if (!s.ok()) return s;
  read.sha256 = sum.Finish();
  return read;
}

Result<FileCopy> Write(const std::string& to, const BytesRead& progress,
                       const std::function<Status(Writer&)>& fill) {
  const Descriptor file(::open(to.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.number() < 0) return CannotWrite(to);
  Writer writer(file.number(), to);
  if (Status s = fill(writer); !s.ok()) return s;
  auto written = writer.Finish();
  if (!written.ok()) return written;
  if (::lseek(file.number(), 0, SEEK_SET) < 0) return CannotRead(to);
  const auto read = SumOf(file.number(), to, progress);
  if (!read.ok()) return read;
  (void)::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
  if (read->bytes != written->bytes || read->sha256 != written->sha256)
    return Status::Corrupted(to + ", read back, is not what was written; check the disk that holds it");
  return written;
}

}  // namespace

void LowerPriorities() {
  LowerThreadPriority(kNice);
  constexpr int kOfThread = 1;                                // IOPRIO_WHO_PROCESS; 0: the calling thread
  constexpr int kIdleClass = 3 << 13;                         // IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)
  (void)::syscall(SYS_ioprio_set, kOfThread, 0, kIdleClass);  // refused: the usual priority
}

Result<FileCopy> CopyFile(const std::string& from, const std::string& to, const BytesRead& progress) {
  const Descriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.number() < 0) return CannotRead(from);
  return Write(to, progress, [&](Writer& writer) {
    return ReadPieces(source.number(), from, progress,
                      [&](std::string_view bytes) { return writer.Add(bytes); });
  });
}

Result<FileCopy> WriteFile(const std::string& text, const std::string& to) {
  return Write(to, {}, [&](Writer& writer) { return writer.Add(text); });
}

Result<FileCopy> ReadFile(const std::string& path, const BytesRead& progress) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return CannotRead(path);
  return SumOf(file.number(), path, progress);
}

Status SyncDirectory(const std::string& path) {
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.number() < 0 || ::fsync(directory.number()) != 0) return CannotWrite(path);
  return Status::Ok();
}

Status SyncDirectories(const std::string& path) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_directory(error)) continue;
    if (Status s = SyncDirectory(it->path().string()); !s.ok()) return s;
  }
  if (error) return Status::Fatal("cannot list " + path + ": " + error.message());
  return SyncDirectory(path);
}

}  // namespace cobblestone::backup
