// Data directories are private to their owner: state and log contain members' names and texts, hidden ones too.
#pragma once

#include <functional>
#include <string>

#include "common/base/status.h"

namespace cobblestone {

// Creates the directory and its parents if they do not exist (mode 0700). Of an existing directory it removes the permissions of others
// and calls `report` with a message about that; the group keeps its permissions, which an operator may have given it for backups.
// Leaves a directory alone that another user owns or that is on a read-only file system. InvalidArgument if it cannot be created.
Status MakePrivateDirectory(const std::string& path, const std::function<void(const std::string&)>& report);

}  // namespace cobblestone
