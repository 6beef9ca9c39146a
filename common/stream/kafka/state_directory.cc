#include "common/stream/kafka/state_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "common/base/private_directory.h"
#include "common/stream/hash128.h"

namespace cobblestone::stream::kafka {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "/deployment";

std::string Described(const DeploymentName& deployment) {
  return "cluster " + deployment.cluster + "\nprefix " + deployment.prefix + "\n";
}

std::string Encode(const DeploymentName& deployment) {
  const std::string text = Described(deployment);
  Hasher hasher;
  hasher.Bytes(text);
  return text + "checksum " + std::to_string(hasher.Digest().low) + "\n";
}

// None: the file is unreadable or its checksum does not match.
std::optional<DeploymentName> Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  std::string words[3];
  DeploymentName deployment;
  bytes >> words[0] >> deployment.cluster >> words[1] >> deployment.prefix;
  if (bytes.fail() || bytes.str() != Encode(deployment)) return std::nullopt;
  return deployment;
}

Status Unwritten(int error, const std::string& path) {
  return Status::Unwritten(error, "cannot write " + path + ": " + std::strerror(error));
}

Status Sync(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  const bool synced = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  return synced ? Status::Ok() : Unwritten(error, path);
}

Status Write(const std::string& directory, const DeploymentName& deployment) {
  const std::string path = directory + kFile;
  const std::string next = path + ".new";
  errno = 0;
  if (!(std::ofstream(next, std::ios::binary) << Encode(deployment) << std::flush))
    return Unwritten(errno, next);
  if (Status s = Sync(next, O_WRONLY); !s.ok()) return s;
  if (::rename(next.c_str(), path.c_str()) != 0) return Unwritten(errno, path);
  return Sync(directory, O_RDONLY | O_DIRECTORY);
}

}  // namespace

Status ClaimStateDirectory(const std::string& directory, const DeploymentName& deployment,
                           const std::function<void(const std::string&)>& report) {
  if (Status made = MakePrivateDirectory(directory, report); !made.ok()) return made;
  const auto before = Read(directory + kFile);
  if (before == deployment) return Status::Ok();
  if (before)
    return Status::InvalidArgument(
        "the states in " + directory + " belong to the deployment " + before->prefix + " on the cluster " +
        before->cluster + ", but the configuration has " + deployment.prefix + " on " + deployment.cluster +
        ". Nothing was changed. Correct kafka.bootstrap or kafka.prefix, or set another "
        "data_directory for this worker. If the other deployment no longer exists, delete the "
        "directory: states are restored from the cluster");
  std::error_code error;
  if (!fs::is_empty(directory, error)) {
    report("the contents of " + directory + " are discarded: the deployment of the contents is unknown");
    for (const auto& entry : fs::directory_iterator(directory, error)) fs::remove_all(entry.path(), error);
  }
  if (error)
    return Status::Fatal("cannot empty the directory " + directory + ": " + error.message() +
                         "; check the owner of the directory");
  return Write(directory, deployment);
}

}  // namespace cobblestone::stream::kafka
