#include "services/hub/collector/record_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/stream/record.h"

namespace cobblestone::hub {

Result<RecordFile> RecordFile::Create(const std::string& path) {
  RecordFile made;
  made.path_ = path;
  made.file_.reset(std::fopen(path.c_str(), "wbe"));
  if (made.file_ == nullptr) return made.Failed();
  return made;
}

void RecordFile::Add(std::string_view record) {
  bytes_.clear();
  stream::AppendRecord(bytes_, record);
  failed_ = std::fwrite(bytes_.data(), 1, bytes_.size(), file_.get()) != bytes_.size() || failed_;
  ++count_;
}

Status RecordFile::Finish() {
  if (failed_ || std::fflush(file_.get()) != 0 || ::fsync(::fileno(file_.get())) != 0) return Failed();
  file_.reset();
  return Status::Ok();
}

Status RecordFile::Failed() const {
  return Status::Unwritten(errno, "cannot write " + path_ + ": " + std::strerror(errno));
}

Result<RecordFileReader> RecordFileReader::Open(const std::string& path) {
  RecordFileReader made;
  made.path_ = path;
  made.file_.reset(std::fopen(path.c_str(), "rbe"));
  if (made.file_ == nullptr)
    return errno == ENOENT ? Status::NotFound("there is no file " + path)
                           : Status::Fatal("cannot read " + path + ": " + std::strerror(errno));
  return made;
}

Result<bool> RecordFileReader::Next(std::string* record) {
  std::uint64_t size = 0;
  int c = std::fgetc(file_.get());
  if (c == EOF) return false;
  for (unsigned shift = 0; c != EOF; shift += 7, c = std::fgetc(file_.get())) {
    size |= static_cast<std::uint64_t>(c & 0x7f) << shift;
    if (c < 0x80) break;
  }
  record->resize(size);
  if (c == EOF || std::fread(record->data(), 1, size, file_.get()) != size)
    return Status::Corrupted(path_ + " ends within a record");
  return true;
}

}  // namespace cobblestone::hub
