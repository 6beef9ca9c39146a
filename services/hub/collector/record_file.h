// A file of records: length as a varint, then bytes. A file of encoded events is one that `cobblestone ingest` and POST
// /api/v1/events read (delimited protobuf).
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::hub {

struct CloseRecordFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenRecordFile = std::unique_ptr<std::FILE, CloseRecordFile>;

class RecordFile {
 public:
  // Creates or replaces the file.
  static Result<RecordFile> Create(const std::string& path);

  void Add(std::string_view record);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // Makes the file durable; errors of Add() are reported here. Call once.
  Status Finish();
  // The same for a file that is read back by this process and not needed after a crash: it is not made durable.
  Status FinishTemporary();

 private:
  [[nodiscard]] Status Failed() const;
  void Write();

  std::string path_;
  OpenRecordFile file_;
  std::string block_{};  // not written yet
  std::uint64_t count_ = 0;
  bool failed_ = false;
};

// Reads a file that RecordFile wrote, from the beginning to the end.
class RecordFileReader {
 public:
  static Result<RecordFileReader> Open(const std::string& path);

  // False: the end. `*record` is valid until the next call. kCorrupted: the file ends within a record.
  Result<bool> Next(std::string_view* record);

 private:
  // Reads on; false: the file has ended.
  bool Fill();

  std::string path_;
  OpenRecordFile file_;
  std::string block_{};  // read, from begin_ on not returned yet
  std::size_t begin_ = 0;
};

}  // namespace cobblestone::hub
