#include "services/hub/collector/record_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "common/stream/record.h"

namespace cobblestone::hub {

namespace {

constexpr std::size_t kBlockBytes = 256u << 10;  // bytes

// Blocks are large enough without a buffer of the C library.
OpenRecordFile Unbuffered(std::FILE* file) {
  if (file != nullptr) std::setbuf(file, nullptr);
  return OpenRecordFile(file);
}

// The length of the record at the beginning and of its own varint; nothing: more bytes are needed.
struct RecordHead {
  std::size_t head = 0;
  std::uint64_t size = 0;
};
std::optional<RecordHead> HeadOf(std::string_view bytes) {
  RecordHead found;
  for (unsigned shift = 0; found.head < bytes.size() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[found.head++]);
    found.size |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return found;
  }
  return std::nullopt;
}

}  // namespace

Result<RecordFile> RecordFile::Create(const std::string& path) {
  RecordFile made;
  made.path_ = path;
  made.file_ = Unbuffered(std::fopen(path.c_str(), "wbe"));
  if (made.file_ == nullptr) return made.Failed();
  return made;
}

void RecordFile::Add(std::string_view record) {
  stream::AppendRecord(block_, record);
  if (block_.size() >= kBlockBytes) Write();
  ++count_;
}

void RecordFile::Write() {
  failed_ = std::fwrite(block_.data(), 1, block_.size(), file_.get()) != block_.size() || failed_;
  block_.clear();
}

Status RecordFile::FinishTemporary() {
  Write();
  if (failed_) return Failed();
  file_.reset();
  return Status::Ok();
}

Status RecordFile::Finish() {
  Write();
  if (failed_ || ::fsync(::fileno(file_.get())) != 0) return Failed();
  file_.reset();
  return Status::Ok();
}

Status RecordFile::Failed() const {
  return Status::Unwritten(errno, "cannot write " + path_ + ": " + std::strerror(errno));
}

Result<RecordFileReader> RecordFileReader::Open(const std::string& path) {
  RecordFileReader made;
  made.path_ = path;
  made.file_ = Unbuffered(std::fopen(path.c_str(), "rbe"));
  if (made.file_ == nullptr)
    return errno == ENOENT ? Status::NotFound("there is no file " + path)
                           : Status::Fatal("cannot read " + path + ": " + std::strerror(errno));
  return made;
}

bool RecordFileReader::Fill() {
  block_.erase(0, std::exchange(begin_, 0));
  const std::size_t before = block_.size();
  block_.resize(before + kBlockBytes);
  block_.resize(before + std::fread(block_.data() + before, 1, kBlockBytes, file_.get()));
  return block_.size() > before;
}

Result<bool> RecordFileReader::Next(std::string_view* record) {
  while (true) {
    const std::string_view unread = std::string_view(block_).substr(begin_);
    if (const auto head = HeadOf(unread); head && unread.size() - head->head >= head->size) {
      *record = unread.substr(head->head, head->size);
      begin_ += head->head + head->size;
      return true;
    }
    if (Fill()) continue;
    if (block_.empty()) return false;
    return Status::Corrupted(path_ + " ends within a record");
  }
}

}  // namespace cobblestone::hub
