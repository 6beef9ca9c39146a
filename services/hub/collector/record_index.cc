#include "services/hub/collector/record_index.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace cobblestone::hub {

namespace {

static_assert(sizeof(IndexedRecord) == 24);

// Behind the records, so that a file without it is incomplete. Numbers are those of the machine: an index never leaves
// the machine that wrote it.
struct Trailer {
  std::uint64_t magic = 0;
  std::uint64_t count = 0;
  std::uint64_t hash = 0;  // of the records
};
constexpr std::size_t kBlockRecords = 8192;            // records
constexpr std::uint64_t kMagic = 0x33584449'42554843;  // "CHUBIDX3"

std::uint64_t HashOf(std::span<const IndexedRecord> records) {
  return stream::HashBytes({reinterpret_cast<const char*>(records.data()), records.size_bytes()}).low;
}

Status Failed(const std::string& what, const std::string& path) {
  return Status::Unwritten(errno, "cannot " + what + " " + path + ": " + std::strerror(errno));
}

}  // namespace

Result<std::optional<RecordIndex>> RecordIndex::OpenIntact(const std::string& path) {
  auto index = Open(path);
  if (index.ok()) return std::optional<RecordIndex>(std::move(*index));
  const StatusCode code = index.status().code();
  if (code == StatusCode::kNotFound || code == StatusCode::kCorrupted) return std::optional<RecordIndex>();
  return index.status();
}

Result<RecordIndex> RecordIndex::Open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) {
    if (errno == ENOENT) return Status::NotFound("there is no index " + path);
    return Failed("open", path);
  }
  struct stat size {};
  RecordIndex index;
  const bool fits = ::fstat(fd, &size) == 0 && size.st_size >= static_cast<off_t>(sizeof(Trailer)) &&
                    (static_cast<std::size_t>(size.st_size) - sizeof(Trailer)) % sizeof(IndexedRecord) == 0;
  if (fits) {
    index.mapped_bytes_ = static_cast<std::size_t>(size.st_size);
    void* mapped = ::mmap(nullptr, index.mapped_bytes_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped != MAP_FAILED) index.mapped_ = mapped;
  }
  ::close(fd);
  if (index.mapped_ == nullptr) return Status::Corrupted(path + " is not a complete index");
  const auto* bytes = static_cast<const char*>(index.mapped_);
  Trailer trailer;
  std::memcpy(&trailer, bytes + index.mapped_bytes_ - sizeof trailer, sizeof trailer);
  index.records_ = {reinterpret_cast<const IndexedRecord*>(bytes),
                    (index.mapped_bytes_ - sizeof trailer) / sizeof(IndexedRecord)};
  if (trailer.magic != kMagic || trailer.count != index.records_.size() ||
      trailer.hash != HashOf(index.records_))
    return Status::Corrupted(path + " is damaged");
  index.seen_.resize(index.records_.size());
  return index;
}

RecordIndex::~RecordIndex() {
  if (mapped_ != nullptr) ::munmap(mapped_, mapped_bytes_);
}

RecordIndex::RecordIndex(RecordIndex&& other) noexcept { *this = std::move(other); }

RecordIndex& RecordIndex::operator=(RecordIndex&& other) noexcept {
  std::swap(records_, other.records_);
  std::swap(seen_, other.seen_);
  std::swap(seen_count_, other.seen_count_);
  std::swap(next_, other.next_);
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  return *this;
}

const IndexedRecord* RecordIndex::Find(std::uint64_t id) {
  // Files are sorted by id, and few ids appear or leave: the record is the next one or soon behind it.
  constexpr std::size_t kNear = 8;
  std::size_t at = next_;
  const std::size_t near = std::min(records_.size(), next_ + kNear);
  while (at < near && records_[at].id < id) ++at;
  if (at == near || records_[at].id != id || at < next_) {
    const auto found = std::lower_bound(records_.begin(), records_.end(), id,
                                        [](const IndexedRecord& a, std::uint64_t b) { return a.id < b; });
    at = static_cast<std::size_t>(found - records_.begin());
  }
  if (at == records_.size() || records_[at].id != id) return nullptr;
  if (!seen_[at]) ++seen_count_;
  seen_[at] = true;
  next_ = at + 1;
  return &records_[at];
}

Result<RecordIndexWriter> RecordIndexWriter::Create(const std::string& path) {
  RecordIndexWriter writer;
  writer.path_ = path;
  writer.file_.reset(std::fopen(path.c_str(), "wbe"));
  if (writer.file_ == nullptr) return Failed("write", path);
  std::setbuf(writer.file_.get(), nullptr);  // blocks are large enough
  writer.block_.reserve(kBlockRecords);
  writer.contents_ = std::make_unique<stream::Hasher>();
  return writer;
}

void RecordIndexWriter::Add(const IndexedRecord& record) {
  if (count_ > 0 && record.id <= last_) sorted_ = false;
  last_ = record.id;
  ++count_;
  block_.push_back(record);
  if (block_.size() == kBlockRecords) Write();
}

void RecordIndexWriter::Write() {
  contents_->Bytes({reinterpret_cast<const char*>(block_.data()), block_.size() * sizeof(IndexedRecord)});
  failed_ = std::fwrite(block_.data(), sizeof(IndexedRecord), block_.size(), file_.get()) != block_.size() ||
            failed_;
  block_.clear();
}

Result<std::uint64_t> RecordIndexWriter::Sort() {
  const std::size_t bytes = count_ * sizeof(IndexedRecord);
  const int fd = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return Failed("write", path_);
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (mapped == MAP_FAILED) return Failed("map", path_);
  const std::span<IndexedRecord> records{static_cast<IndexedRecord*>(mapped), count_};
  std::sort(records.begin(), records.end(),
            [](const IndexedRecord& a, const IndexedRecord& b) { return a.id < b.id; });
  const std::uint64_t hash = HashOf(records);
  ::munmap(mapped, bytes);
  return hash;
}

Status RecordIndexWriter::Finish() {
  Write();
  if (failed_) return Failed("write", path_);
  Trailer trailer{.magic = kMagic, .count = count_, .hash = contents_->Digest().low};
  if (!sorted_) {
    const auto hash = Sort();
    if (!hash.ok()) return hash.status();
    trailer.hash = *hash;
  }
  if (std::fwrite(&trailer, sizeof trailer, 1, file_.get()) != 1 || ::fsync(::fileno(file_.get())) != 0)
    return Failed("write", path_);
  file_.reset();
  return Status::Ok();
}

}  // namespace cobblestone::hub
