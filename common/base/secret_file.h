// Files that contain a key, a password or tokens. One function reads all of them, so the same rule applies to every file: only the user
// that runs the program, or root, owns the file, and nobody else can read or change it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone {

// Reads the whole file. `option` is the setting that names the file, for messages ("gateway.tls_key").
//
// All checks use the opened descriptor, so they are true of the bytes that are read. Symbolic links are followed, because Kubernetes
// mounts secrets as links; the checks apply to the target.
//
// kInvalidArgument, with what to do, and never with what the file holds:
// - it cannot be opened or read, or is no regular file (a FIFO is refused at once, not waited for),
// - it belongs to a user that is neither the one that runs the program nor root,
// - others can read it, or the group or others can change it (mode 600, 400, 640 and 440 are good),
// - it has more than `largest` bytes.
//
// Threads: any. The caller wipes the text where that matters (Wipe).
Result<std::string> ReadSecretFile(std::string_view option, const std::string& path, std::size_t largest);

// Overwrites the text in memory, and empties it. The compiler does not leave that out.
void Wipe(std::string* text);

}  // namespace cobblestone
