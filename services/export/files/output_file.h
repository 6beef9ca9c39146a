// One file of an export, written sequentially: plain, as one gzip member, or as a zip archive with one entry.
//
// gzip consists of blocks that are compressed in parallel, each with the preceding 32 KiB as dictionary. The
// result is one ordinary stream, the same for any number of threads. A file of one block equals zlib's output
// for the whole text (and BOINC's). Memory: some blocks, however long the file.
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

namespace cobblestone::exports {

struct FileFigures {
  std::string name;
  std::uint64_t bytes = 0;          // on disk
  std::string sha256;               // of the bytes on disk
  std::uint64_t content_bytes = 0;  // before compression
  std::uint64_t records = 0;
};

class OutputFile {
 public:
  // Creates directory/name with the extension of the compression. InvalidArgument: the file exists (two
  // outputs with one name). Full or Fatal: it cannot be created. `workers` must outlive the file. `now`, UNIX
  // s: time stored in a zip archive.
  static Result<std::unique_ptr<OutputFile>> Create(const std::string& directory, const std::string& name,
                                                    Compression compression, std::int64_t now,
                                                    Workers& workers);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Full or Fatal, with the name of the file, if it cannot be written.
  Status Append(std::string_view text);
  void CountRecord() { ++figures_.records; }
  // Writes the remaining bytes and closes the file; call it once. The publication syncs the
  // directory as a whole.
  Result<FileFigures> Finish();

 private:
  struct Block;

  OutputFile(std::string directory, std::string name, Compression compression, std::int64_t now,
             Workers& workers);
  void StartBlock(bool last);
  // Writes completed blocks in order until at most `left` are in progress.
  Status DrainBlocks(std::size_t left);
  Status Write(std::string_view bytes);
  Result<FileFigures> FinishZip();

  std::string directory_;
  std::string name_;  // without the extension
  std::string path_;  // of the file
  Compression compression_;
  std::int64_t now_;
  Workers& workers_;
  int descriptor_ = -1;
  std::string buffer_;
  std::string tail_;  // end of the previous block
  std::deque<std::pair<std::shared_ptr<Block>, Workers::Handle>> blocks_;
  unsigned long crc_ = 0;
  Sha256 sum_;
  FileFigures figures_;
};

}  // namespace cobblestone::exports
