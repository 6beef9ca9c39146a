// The last message of a process that cannot continue (a failed CHECK, a failed log write). It goes to
// standard error as plain text, unless the program has installed a handler with its own log format.
#pragma once

#include <functional>
#include <string>

namespace cobblestone {

// Reports one message without a line end. The message must stay true afterwards. Any thread. Returns; the
// caller then ends the process.
void SayLastWords(const std::string& message);

// Sets the handler; empty: standard error. Call before other threads exist, and again before anything that
// the handler uses is destroyed.
void SetLastWords(std::function<void(const std::string& message)> sink);

}  // namespace cobblestone
