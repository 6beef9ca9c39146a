// Evidence of what was acknowledged: a small file beside the database that says how far the log was when it last told
// somebody that something is durable. The write-ahead log alone cannot tell a torn last record, which nobody was told
// about and which is dropped, from damage that looks like one (a damaged length near the end, a truncated file, the
// last file deleted): RocksDB accepts all of these in every recovery mode. With it, an open that finds less than was
// acknowledged stops.
//
// Written after the synced write has returned and before anybody is told, without a sync of its own: a killed process
// loses nothing of it; a power cut may take it back to an older mark, which is still true, only weaker. Two places are
// written in turn, each with a hash, so that one is always whole.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace cobblestone::stream::embedded {

struct AcknowledgedMark {
  std::uint64_t commit = 0;     // number of the last synced write, counted over the life of the log
  std::uint64_t wal_file = 0;   // number of the write-ahead file that was current after it
  std::uint64_t wal_bytes = 0;  // and how long it was
};

class AcknowledgedFile {
 public:
  // kNotFound: there is none. kCorrupted: neither place is whole.
  static Result<AcknowledgedMark> Read(const std::string& path);

  // Makes the file, or takes over the one there; `mark` is in it, synced, on return.
  static Result<AcknowledgedFile> Start(const std::string& path, const AcknowledgedMark& mark);

  // Ok, or kFatal with the reason.
  Status Write(const AcknowledgedMark& mark);

  AcknowledgedFile(AcknowledgedFile&& other) noexcept;
  AcknowledgedFile& operator=(AcknowledgedFile&& other) noexcept;
  AcknowledgedFile(const AcknowledgedFile&) = delete;
  AcknowledgedFile& operator=(const AcknowledgedFile&) = delete;
  ~AcknowledgedFile();

 private:
  AcknowledgedFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_ = -1;
  int turn_ = 0;
  std::string path_;
};

}  // namespace cobblestone::stream::embedded
