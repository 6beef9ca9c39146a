// One file of an export, written front to back: plain, as one gzip member, or as a zip archive with one entry.
//
// gzip is made of blocks that are compressed beside each other, each knowing the 32 KiB before it; what comes out is one
// ordinary stream, the same with any number of threads, and for a file of one block what zlib makes of it in one go (and so
// BOINC's). Memory: some blocks, however long the file.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "services/export/files/digest.h"
#include "services/export/spec.h"
#include "services/export/workers.h"

namespace cobblestone::statistics {

struct FileFigures {
  std::string name;
  std::uint64_t bytes = 0;          // as it lies there
  std::string sha256;               // of that
  std::uint64_t content_bytes = 0;  // before compression
  std::uint64_t records = 0;
};

class OutputFile {
 public:
  // Makes directory/name with the compression's ending. InvalidArgument where it exists (two outputs of one name), Full or
  // Fatal where it cannot be made. `workers` must live longer. `now`, UNIX s: the time that a zip archive tells.
  static Result<std::unique_ptr<OutputFile>> Create(const std::string& directory, const std::string& name,
                                                    Compression compression, std::int64_t now,
                                                    Workers& workers);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Full or Fatal, naming the file, where it cannot be written.
  Status Append(std::string_view text);
  void CountRecord() { ++figures_.records; }
  // Writes what is left and closes the file; once. Whoever publishes syncs the directory as a whole.
  Result<FileFigures> Finish();

 private:
  struct Block;

  OutputFile(std::string directory, std::string name, Compression compression, std::int64_t now,
             Workers& workers);
  void StartBlock(bool last);
  // Writes blocks in their order until at most `left` are under way.
  Status DrainBlocks(std::size_t left);
  Status Write(std::string_view bytes);
  Result<FileFigures> FinishZip();

  std::string directory_;
  std::string name_;  // without the ending
  std::string path_;  // of what is being written
  Compression compression_;
  std::int64_t now_;
  Workers& workers_;
  int descriptor_ = -1;
  std::string buffer_;
  std::string tail_;  // the end of the block before
  std::deque<std::pair<std::shared_ptr<Block>, Workers::Handle>> blocks_;
  unsigned long crc_ = 0;
  Sha256 sum_;
  FileFigures figures_;
};

}  // namespace cobblestone::statistics
