// Data directories are private to their owner: state and log contain members' names and texts, including
// hidden ones.
#pragma once

#include <functional>
#include <string>

#include "common/base/status.h"

namespace cobblestone {

// Creates the directory and its parents if they do not exist (mode 0700). If the directory exists, removes
// the permissions of others and calls `report` with a message; the group keeps its permissions, which an
// operator may have set for backups. Leaves a directory unchanged that another user owns or that is on a
// read-only file system. kInvalidArgument if it cannot be created.
Status MakePrivateDirectory(const std::string& path, const std::function<void(const std::string&)>& report);

}  // namespace cobblestone
