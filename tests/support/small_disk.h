// A file system of a few megabytes in memory, if this user may mount file systems. The destructor unmounts it.
#pragma once

#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "tests/support/temp_dir.h"

namespace cobblestone::testing {

class SmallDisk {
 public:
  // `size` in the notation of mount(8): "6m".
  explicit SmallDisk(const std::string& size)
      : why_(::mount("none", dir_.path().c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0 ? 0 : errno) {}
  ~SmallDisk() {
    if (mounted()) ::umount2(dir_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] bool mounted() const { return why_ == 0; }
  [[nodiscard]] std::string why() const { return std::strerror(why_); }
  [[nodiscard]] const TempDir& dir() const { return dir_; }
  // Existing files stay.
  [[nodiscard]] bool Grow(const std::string& size) const {
    return ::mount("none", dir_.path().c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str()) == 0;
  }

 private:
  TempDir dir_;
  int why_;
};

}  // namespace cobblestone::testing
