#include "services/hub/snapshot/snapshot_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "services/hub/snapshot/signature.h"

namespace cobblestone::hub {
namespace {

constexpr std::size_t kChunkBytes = 1u << 18;
constexpr std::size_t kLargestSignature = 4096;

// A descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

struct CloseEntries {
  void operator()(DIR* entries) const { ::closedir(entries); }
};

}  // namespace

Result<SnapshotFiles> SnapshotFiles::Open(const std::string& directory) {
  const int number = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (number >= 0) return SnapshotFiles(number);
  const std::string problem = directory + ": " + std::strerror(errno);
  return errno == ENOENT || errno == ENOTDIR
             ? Status::NotFound(problem + "; name the directory of a snapshot")
             : Status::Fatal(problem);
}

SnapshotFiles::~SnapshotFiles() {
  if (directory_ >= 0) ::close(directory_);
}
SnapshotFiles::SnapshotFiles(SnapshotFiles&& other) noexcept : directory_(other.directory_) {
  other.directory_ = -1;
}

Result<std::vector<std::string>> SnapshotFiles::Names() const {
  const int copy = ::openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseEntries> entries(copy < 0 ? nullptr : ::fdopendir(copy));
  if (entries == nullptr)
    return Status::Fatal(std::string("the directory cannot be read: ") + std::strerror(errno));
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status SnapshotFiles::Read(const std::string& name,
                           const std::function<Status(std::string_view)>& chunk) const {
  // Not blocking: a FIFO must not stop a verification.
  const Descriptor file(::openat(directory_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.number() < 0) {
    if (errno == ENOENT) return Status::NotFound(name + ": missing");
    if (errno == ELOOP) return Status::InvalidArgument(name + ": is a symbolic link");
    return Status::Fatal(name + ": " + std::strerror(errno));
  }
  struct stat attributes {};
  if (::fstat(file.number(), &attributes) != 0 || !S_ISREG(attributes.st_mode))
    return Status::InvalidArgument(name + ": is not a regular file");
  std::string buffer(kChunkBytes, '\0');
  for (;;) {
    const ssize_t got = ::read(file.number(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status::Fatal(name + ": " + std::strerror(errno));
    if (got == 0) return Status::Ok();
    if (Status s = chunk(std::string_view(buffer).substr(0, static_cast<std::size_t>(got))); !s.ok())
      return s;
  }
}

Result<std::string> SnapshotFiles::ReadWhole(const std::string& name, std::size_t largest) const {
  std::string bytes;
  Status s = Read(name, [&](std::string_view chunk) {
    if (chunk.size() > largest - bytes.size())
      return Status::InvalidArgument(name + ": is larger than " + std::to_string(largest) + " bytes");
    bytes += chunk;
    return Status::Ok();
  });
  if (!s.ok()) return s;
  return bytes;
}

Result<SignedManifest> ReadManifestOf(const SnapshotFiles& files) {
  const auto bytes = files.ReadWhole(kManifestFile, kLargestManifest);
  if (!bytes.ok()) return bytes.status();
  auto manifest = ParseManifest(*bytes);
  if (!manifest.ok())
    return Status::InvalidArgument(std::string(kManifestFile) + ": " + manifest.status().message());
  SignedManifest read{.manifest = std::move(*manifest), .sha256 = Sha256Of(*bytes)};
  const auto signature = files.ReadWhole(kSignatureFile, kLargestSignature);
  read.signature_valid = signature.ok() && IsSignedBy(read.manifest.key, *bytes, *signature);
  return read;
}

Status ReadLines(const SnapshotFiles& files, const std::string& name,
                 const std::function<Status(std::string_view line, std::uint64_t number)>& line) {
  std::string begun;
  std::uint64_t number = 0;
  const auto too_long = [&] {
    return Status::InvalidArgument(name + ": line " + std::to_string(number + 1) +
                                   " is longer than 65,536 bytes");
  };
  Status s = files.Read(name, [&](std::string_view chunk) {
    while (!chunk.empty()) {
      const std::size_t end = chunk.find('\n');
      if (end == std::string_view::npos) {
        begun += chunk;
        return begun.size() > kLongestLine ? too_long() : Status::Ok();
      }
      begun += chunk.substr(0, end);
      chunk.remove_prefix(end + 1);
      if (begun.size() > kLongestLine) return too_long();
      if (Status visited = line(begun, ++number); !visited.ok()) return visited;
      begun.clear();
    }
    return Status::Ok();
  });
  if (!s.ok()) return s;
  if (!begun.empty())
    return Status::InvalidArgument(name + ": line " + std::to_string(number + 1) +
                                   " has no line break: truncated");
  return Status::Ok();
}

}  // namespace cobblestone::hub
