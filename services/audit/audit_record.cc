#include "services/audit/audit_record.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "common/stream/state_codec.h"

namespace cobblestone::audit {
namespace {

constexpr std::string_view kMagic = "cobblestone audit 1\n";

struct Stored {
  std::uint64_t id = 0;
  std::uint64_t grants = 0;
  std::uint64_t micro_low = 0;
  std::int64_t micro_high = 0;
  std::uint32_t project = 0;
  std::uint32_t partition = 0;
  std::uint64_t kind = 0;
};
static_assert(sizeof(Stored) == 48);

// Behind the accounts: magic, accounts, record, then this.
struct Trailer {
  std::uint64_t accounts = 0;
  std::uint64_t record_bytes = 0;
  stream::Hash128 hash;  // of all before it, and of the two numbers
};

std::string NewOf(const std::string& path) { return path + ".new"; }

Status Damaged(const std::string& path) {
  return Status::Corrupted("the record of the last clean audit, " + path +
                           ", is damaged; run `cobblestone audit` without --since, which replaces it");
}

}  // namespace

Result<AuditRecord> AuditRecord::Load(
    const std::string& path,
    const std::function<void(const AccountBalance::Account&, const AuditedSum&)>& visit) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status::NotFound("there is no record of a clean audit in " + path);
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error || size < kMagic.size() + sizeof(Trailer)) return Damaged(path);
  Trailer trailer;
  file.seekg(static_cast<std::streamoff>(size - sizeof trailer));
  file.read(reinterpret_cast<char*>(&trailer), sizeof trailer);
  const std::uint64_t body = size - sizeof trailer - kMagic.size();
  if (!file || trailer.accounts > body / sizeof(Stored) ||
      trailer.accounts * sizeof(Stored) + trailer.record_bytes != body)
    return Damaged(path);
  // The first pass compares the checksum, the second one reads.
  file.seekg(0);
  stream::Hasher hasher;
  std::string piece(1u << 20, '\0');
  for (std::uint64_t left = size - sizeof trailer; left > 0;) {
    const std::uint64_t now = std::min<std::uint64_t>(left, piece.size());
    if (!file.read(piece.data(), static_cast<std::streamsize>(now))) return Damaged(path);
    if (left == size - sizeof trailer && !piece.starts_with(kMagic)) return Damaged(path);
    hasher.Bytes({piece.data(), now});
    left -= now;
  }
  hasher.Scalar(trailer.accounts);
  hasher.Scalar(trailer.record_bytes);
  if (hasher.Digest() != trailer.hash) return Damaged(path);
  file.seekg(static_cast<std::streamoff>(kMagic.size()));
  for (std::uint64_t n = 0; n < trailer.accounts; ++n) {
    Stored one;
    if (!file.read(reinterpret_cast<char*>(&one), sizeof one)) return Damaged(path);
    const auto micro = static_cast<credit::MicroTotal>(
        static_cast<unsigned __int128>(static_cast<std::uint64_t>(one.micro_high)) << 64 | one.micro_low);
    if (visit)
      visit({.partition = one.partition,
             .kind = static_cast<AuditedAccount>(one.kind),
             .project = one.project,
             .id = one.id},
            {.micro = micro, .grants = one.grants});
  }
  std::string bytes(trailer.record_bytes, '\0');
  AuditRecord record;
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) return Damaged(path);
  stream::StateReader reader(bytes);
  reader(record);
  if (!reader.done()) return Damaged(path);
  return record;
}

AuditRecordWriter::AuditRecordWriter(std::string path)
    : path_(std::move(path)), file_(NewOf(path_), std::ios::binary | std::ios::trunc) {
  Write(kMagic.data(), kMagic.size());
}

AuditRecordWriter::~AuditRecordWriter() {
  if (finished_) return;
  file_.close();
  std::error_code ignored;  // the next audit overwrites it
  std::filesystem::remove(NewOf(path_), ignored);
}

void AuditRecordWriter::Write(const void* bytes, std::size_t size) {
  file_.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  hasher_.Bytes({static_cast<const char*>(bytes), size});
}

void AuditRecordWriter::Add(const AccountBalance::Account& account, const AuditedSum& sum) {
  const Stored one{.id = account.id,
                   .grants = sum.grants,
                   .micro_low = static_cast<std::uint64_t>(sum.micro),
                   .micro_high = static_cast<std::int64_t>(sum.micro >> 64),
                   .project = account.project,
                   .partition = account.partition,
                   .kind = static_cast<std::uint64_t>(account.kind)};
  Write(&one, sizeof one);
  ++accounts_;
}

Status AuditRecordWriter::Finish(const AuditRecord& record) {
  std::string bytes;
  stream::EncodeState(record, bytes);
  Write(bytes.data(), bytes.size());
  Trailer trailer{.accounts = accounts_, .record_bytes = bytes.size(), .hash = {}};
  hasher_.Scalar(trailer.accounts);
  hasher_.Scalar(trailer.record_bytes);
  trailer.hash = hasher_.Digest();
  file_.write(reinterpret_cast<const char*>(&trailer), sizeof trailer);
  file_.close();
  const std::string fresh = NewOf(path_);
  bool written = !file_.fail();
  if (const int fd = ::open(fresh.c_str(), O_RDONLY | O_CLOEXEC); fd >= 0) {
    written = written && ::fdatasync(fd) == 0;
    ::close(fd);
  }
  std::error_code error;
  if (written) std::filesystem::rename(fresh, path_, error);
  if (!written || error)
    return Status::Unwritten(errno,
                             "cannot write the record of the audit, " + path_ + "; check for a full disk");
  finished_ = true;
  return Status::Ok();
}

}  // namespace cobblestone::audit
