// The text of a reason in feed_edition and feed_health: what happened, and behind it what an operator of the hub may do.
// Everybody reads the first part; what the hub publishes as a fact, such as a snapshot, has it alone.
#pragma once

#include <string>
#include <string_view>

namespace cobblestone::wire {

inline constexpr std::string_view kWhatToDo = ". What to do: ";

inline std::string ReasonWithStep(std::string_view reason, std::string_view step) {
  std::string text(reason);
  if (!step.empty()) return text.append(kWhatToDo).append(step);
  // The words of a project must not pass for a step.
  for (std::size_t at = text.find(kWhatToDo); at != std::string::npos; at = text.find(kWhatToDo, at))
    text[at] = ';';
  return text;
}

struct FeedReason {
  std::string_view reason;  // neither a capital nor a full stop
  std::string_view step;    // sentences; empty: none
};

// Views of `text`. The last place counts, because the reason may quote others.
inline FeedReason SplitReason(std::string_view text) {
  const std::size_t at = text.rfind(kWhatToDo);
  if (at == std::string_view::npos) return {.reason = text, .step = {}};
  return {.reason = text.substr(0, at), .step = text.substr(at + kWhatToDo.size())};
}

}  // namespace cobblestone::wire
