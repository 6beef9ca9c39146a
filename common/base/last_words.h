// The last words of a process that cannot go on: a CHECK that fails, a log that cannot be written. On standard error as
// they are, unless the program has a log of its own format for them.
#pragma once

#include <functional>
#include <string>

namespace cobblestone {

// One message, without a line's end; what it says goes on being true after it. Any thread. It returns: who says them ends
// the process then.
void SayLastWords(const std::string& message);

// Who gets them from now on; empty: standard error. Before there are other threads, and again before what it uses is gone.
void SetLastWords(std::function<void(const std::string& message)> tell);

}  // namespace cobblestone
