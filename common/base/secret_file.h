// Files that contain a key, a password or tokens. One function reads all of them, so that one rule applies to
// all: the file is owned by the user that runs the program or by root, and no other user can read or change it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone {

// Reads the whole file. `option` is the setting that names the file, for messages ("gateway.tls_key").
//
// All checks use the opened descriptor, so they apply to the bytes that are read. Symbolic links are
// followed, because Kubernetes mounts secrets as links; the checks apply to the target.
//
// kInvalidArgument, with a remedy and never with the contents, if the file
// - cannot be opened or read, or is not a regular file (a FIFO is rejected at once, without waiting),
// - belongs to a user other than the one that runs the program or root,
// - is readable by others, or writable by the group or others (modes 600, 400, 640 and 440 are accepted),
// - has more than `largest` bytes.
//
// Threads: any. The caller wipes the text if necessary (Wipe).
Result<std::string> ReadSecretFile(std::string_view option, const std::string& path, std::size_t largest);

// Overwrites the text in memory and empties it. The compiler does not optimize this away.
void Wipe(std::string* text);

}  // namespace cobblestone
