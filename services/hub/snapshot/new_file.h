// A new file that is written from beginning to end.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::hub {

class NewFile {
 public:
  NewFile() = default;
  ~NewFile() { Close(); }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Creates the file, whatever the umask readable by everybody: snapshots are public. All functions: kFull, or kFatal, also
  // if the file exists.
  Status Open(const std::string& path, unsigned mode = 0644);
  Status Append(std::string_view bytes);
  // Writes the rest, syncs and closes.
  Status Finish();

 private:
  Status Flush();
  void Close();

  std::string path_;
  std::string buffer_;
  int file_ = -1;
};

// From errno: the file or directory cannot be written.
Status UnwrittenFile(const std::string& path);

}  // namespace cobblestone::hub
