#include "common/base/private_directory.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

namespace cobblestone {

Status MakePrivateDirectory(const std::string& path, const std::function<void(const std::string&)>& report) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(path, error);
  if (error)
    return Status::InvalidArgument("cannot create the data directory " + path + ": " + error.message());
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0 || !S_ISDIR(about.st_mode))
    return Status::Ok();  // opening the first file reports the reason
  const mode_t wanted = made ? S_IRWXU : about.st_mode & ~static_cast<mode_t>(S_IRWXO) & 07777U;
  if (wanted == (about.st_mode & 07777U) || ::chmod(path.c_str(), wanted) != 0) return Status::Ok();
  if (!made && report)
    report("the data directory " + path +
           " was accessible to all users of this machine; access of other users was removed");
  return Status::Ok();
}

}  // namespace cobblestone
