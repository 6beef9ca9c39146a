#include "common/stream/kafka/read_all.h"

namespace cobblestone::stream::kafka {

Status ReadAll(Reader& reader, TopicPartition where, std::uint64_t from, Millis patience,
               const std::function<Status(const Message&)>& visit, std::uint64_t* end, std::uint64_t until) {
  if (Status s = reader.Start(where, from); !s.ok()) return s;
  std::deque<Message> messages;
  Millis waited{0};
  constexpr Millis kWait{50};
  Status status;
  for (;;) {
    status = reader.Poll(where, 1000, &messages);
    if (!status.ok()) break;
    if (messages.empty()) {
      if (const auto at = reader.AtEnd(where)) {
        if (end != nullptr) *end = *at;
        break;
      }
      if (waited >= patience) {
        status = Status::Retry("cannot read a partition to its end; check that the cluster is reachable");
        break;
      }
      reader.Wait(kWait);
      waited += kWait;
      continue;
    }
    waited = Millis(0);
    bool reached = false;
    for (; !messages.empty() && status.ok() && !reached; messages.pop_front()) {
      reached = messages.front().offset() >= until;
      if (!reached) status = visit(messages.front());
    }
    if (!status.ok()) break;
    if (reached) {
      if (end != nullptr) *end = until;
      break;
    }
  }
  messages.clear();
  reader.Stop(where);
  return status;
}

}  // namespace cobblestone::stream::kafka
