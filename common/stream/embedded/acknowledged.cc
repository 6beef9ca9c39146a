#include "common/stream/embedded/acknowledged.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "common/stream/bytes.h"

namespace cobblestone::stream::embedded {
namespace {

constexpr std::size_t kPlaceBytes = 40;
// Each place has its own block: a torn write of one place cannot damage the other.
constexpr off_t kPlaceStride = 4096;
constexpr std::uint64_t kMagic = 0x31306b6361636263;  // "cbcack01"
using Place = std::array<char, kPlaceBytes>;

Place Encode(const AcknowledgedMark& mark) {
  Place place;
  StoreNumber(place.data(), kMagic);
  StoreNumber(place.data() + 8, mark.commit);
  StoreNumber(place.data() + 16, mark.wal_file);
  StoreNumber(place.data() + 24, mark.wal_bytes);
  StoreNumber(place.data() + 32, static_cast<std::uint64_t>(XXH3_64bits(place.data(), 32)));
  return place;
}

std::optional<AcknowledgedMark> Decode(const Place& place) {
  if (LoadNumber<std::uint64_t>(place.data()) != kMagic) return std::nullopt;
  if (LoadNumber<std::uint64_t>(place.data() + 32) != XXH3_64bits(place.data(), 32)) return std::nullopt;
  return AcknowledgedMark{.commit = LoadNumber<std::uint64_t>(place.data() + 8),
                          .wal_file = LoadNumber<std::uint64_t>(place.data() + 16),
                          .wal_bytes = LoadNumber<std::uint64_t>(place.data() + 24)};
}

Status Failed(const std::string& what, const std::string& path) {
  return Status::Unwritten(errno, "cannot " + what + " " + path + ": " + std::strerror(errno) +
                                      "; free disk space or repair the disk, then start again");
}

}  // namespace

Result<AcknowledgedMark> AcknowledgedFile::Read(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return Status::NotFound("no file " + path);
    return Failed("open", path);
  }
  const AcknowledgedFile closes(fd, path);
  std::optional<AcknowledgedMark> newest;
  for (int turn = 0; turn < 2; ++turn) {
    Place place{};
    if (::pread(fd, place.data(), place.size(), turn * kPlaceStride) != static_cast<ssize_t>(place.size()))
      continue;
    const std::optional<AcknowledgedMark> mark = Decode(place);
    if (mark && (!newest || mark->commit >= newest->commit)) newest = mark;
  }
  if (!newest) return Status::Corrupted(path + " is damaged: both copies of its position are invalid");
  return *newest;
}

Result<AcknowledgedFile> AcknowledgedFile::Start(const std::string& path, const AcknowledgedMark& mark) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return Failed("open", path);
  AcknowledgedFile file(fd, path);
  for (int turn = 0; turn < 2; ++turn) {
    if (Status status = file.Write(mark); !status.ok()) return status;
  }
  if (::fsync(fd) != 0) return Failed("sync", path);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int folder_fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const AcknowledgedFile closes(folder_fd, folder);
  if (folder_fd < 0 || ::fsync(folder_fd) != 0) return Failed("sync", folder);
  return file;
}

Status AcknowledgedFile::Write(const AcknowledgedMark& mark) {
  const Place place = Encode(mark);
  if (::pwrite(fd_, place.data(), place.size(), turn_ * kPlaceStride) != static_cast<ssize_t>(place.size())) {
    return Failed("write to", path_);
  }
  turn_ ^= 1;
  return Status::Ok();
}

AcknowledgedFile::AcknowledgedFile(AcknowledgedFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), turn_(other.turn_), path_(std::move(other.path_)) {}

AcknowledgedFile& AcknowledgedFile::operator=(AcknowledgedFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(turn_, other.turn_);
  std::swap(path_, other.path_);
  return *this;
}

AcknowledgedFile::~AcknowledgedFile() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace cobblestone::stream::embedded
