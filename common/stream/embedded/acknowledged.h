// A small file beside the database that records the length of the log at the last acknowledged write. The
// write-ahead log alone cannot distinguish a torn last record, which was never acknowledged and is dropped,
// from damage that looks the same (a damaged length near the end, a truncated file, the last file deleted):
// RocksDB accepts all of these in every recovery mode. An open that finds a shorter log than the acknowledged
// length fails.
//
// The file is written after the synced write returns and before the acknowledgement, without a sync of its
// own. A killed process loses nothing. A power failure may restore an older entry, which is still true but a
// weaker check. Two places, each with a hash, are written in turn, so that one of them is always complete.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace cobblestone::stream::embedded {

struct AcknowledgedMark {
  std::uint64_t commit = 0;     // number of the last synced write, counted over the life of the log
  std::uint64_t wal_file = 0;   // number of the current write-ahead file after that write
  std::uint64_t wal_bytes = 0;  // length of that file
};

class AcknowledgedFile {
 public:
  // kNotFound: there is no file. kCorrupted: neither place is complete.
  static Result<AcknowledgedMark> Read(const std::string& path);

  // Creates the file or takes over the existing file; on return the file holds `mark`, synced.
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
