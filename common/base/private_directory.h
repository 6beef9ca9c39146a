// Data directories are their owner's alone: state and log hold names and texts of members, hidden ones too.
#pragma once

#include <functional>
#include <string>

#include "common/base/status.h"

namespace cobblestone {

// Makes the directory, with those above it, where it is not there (mode 0700), and takes the rights of others, neither owner nor
// group, from one that is there; `report` is told of that. A group keeps what an operator gave it, for example to make backups.
// InvalidArgument where it cannot be made. A directory that another user owns, or that lies on a read-only file system, is left
// as it is.
Status MakePrivateDirectory(const std::string& path, const std::function<void(const std::string&)>& report);

}  // namespace cobblestone
