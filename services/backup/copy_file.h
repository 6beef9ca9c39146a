// Copies files for backups. A copy has a checksum of the bytes that were read, is synced, and is read back from the
// disk.
//
// Copies have a low priority: call LowerPriorities() once on the thread that copies. Written bytes are synced in small
// portions, so that a commit of a pipeline on the same disk waits for few of them. Written bytes also leave the page
// cache, so that they displace no other pages, and the read-back comes from the disk.
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

// Receives the number of bytes that were read since the last call; may be empty.
using BytesRead = std::function<void(std::uint64_t bytes)>;

// Lowers the priorities of the calling thread and of the threads that it starts later: CPU (nice 15), and disk (idle)
// if the I/O scheduler supports priorities.
void LowerPriorities();

// Copies `from` to `to`, which must not exist; mode 0600. Reads both files, so `progress` counts each byte twice. On
// return the bytes are on the disk, but the name is not (SyncDirectory). kNotFound: there is no `from`. kFull, kFatal:
// a file cannot be read or written. kCorrupted: the copy reads back differently.
Result<FileCopy> CopyFile(const std::string& from, const std::string& to, const BytesRead& progress);
// Writes `text` to `to` in the same way.
Result<FileCopy> WriteFile(const std::string& text, const std::string& to);
// Size and checksum of a file. kNotFound, kFatal.
Result<FileCopy> ReadFile(const std::string& path, const BytesRead& progress);

// Syncs the names in a directory. kFull, kFatal.
Status SyncDirectory(const std::string& path);
// Syncs the names in a directory and in all directories below it. kFull, kFatal.
Status SyncDirectories(const std::string& path);

}  // namespace cobblestone::backup
