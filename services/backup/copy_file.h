// Copies files for backups: with a checksum of what was read, synced, and read back from the disk.
//
// Copying is work that nobody waits for: LowerPriorities() once, on the thread that copies. Written bytes are synced in
// small portions, so that a commit of a pipeline on the same disk never waits for many of them, and leave the page
// cache, so that they displace nothing and are read back from the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/status.h"

namespace cobblestone::backup {

struct FileCopy {
  std::uint64_t bytes = 0;
  std::string sha256;  // 64 lower-case hexadecimal digits
};

// Receives bytes that were read since its last call; may be empty.
using BytesRead = std::function<void(std::uint64_t bytes)>;

// Of the calling thread and the threads that it starts later: CPU (nice 15) and, where the scheduler of the disk
// knows priorities, the disk (idle).
void LowerPriorities();

// Copies `from` to `to`, which must not exist; mode 0600. Reads both, so `progress` counts each byte twice. On return
// the bytes are on the disk (their name is not: SyncDirectory). kNotFound: there is no `from`. kFull, kFatal: it
// cannot be read or written. kCorrupted: read back, it is not what was written.
Result<FileCopy> CopyFile(const std::string& from, const std::string& to, const BytesRead& progress);
// The same from memory.
Result<FileCopy> WriteFile(const std::string& text, const std::string& to);
// Reads a file. kNotFound, kFatal.
Result<FileCopy> ReadFile(const std::string& path, const BytesRead& progress);

// Syncs the names in a directory. kFull, kFatal.
Status SyncDirectory(const std::string& path);
// The same for a directory and all below it.
Status SyncDirectories(const std::string& path);

}  // namespace cobblestone::backup
