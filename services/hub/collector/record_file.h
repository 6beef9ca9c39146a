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

 private:
  [[nodiscard]] Status Failed() const;

  std::string path_;
  OpenRecordFile file_;
  std::string bytes_;  // reused
  std::uint64_t count_ = 0;
  bool failed_ = false;
};

// Reads a file that RecordFile wrote, from the beginning to the end.
class RecordFileReader {
 public:
  static Result<RecordFileReader> Open(const std::string& path);

  // False: the end. kCorrupted: the file ends within a record.
  Result<bool> Next(std::string* record);

 private:
  std::string path_;
  OpenRecordFile file_;
};

}  // namespace cobblestone::hub
