// A small file that is replaced as a whole, and survives a power failure: the state of a feed between two rounds.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::hub {

// Replaces `path`, or creates it, with mode 0600. On return the new contents are on the disk, and so is the name. If it
// fails, or the machine fails before, the file has its old contents. kFull, kFatal: it cannot be written.
Status ReplaceFile(const std::string& path, std::string_view contents);

}  // namespace cobblestone::hub
