#include "services/stage/refuse.h"

#include <utility>

#include "common/wire/control/topics.h"
#include "common/wire/ledger/refused_codec.h"

namespace cobblestone::stage {

using wire::EncodeRefused;
using wire::kRefused;
using wire::Refusal;
using wire::RefusalReason;
using wire::TopicName;

void Refuse(const stream::RecordView& record, ProjectId project, RefusalReason reason, std::string detail,
            stream::Emitter& out) {
  std::string bytes;
  EncodeRefused({.refusal = {.reason = reason, .detail = std::move(detail)},
                 .topic = std::string(TopicName(record.where.topic)),
                 .partition = record.where.partition,
                 .offset = record.offset,
                 .append_time = record.append_time,
                 .original = std::string(record.value),
                 .source = {},
                 .line = record.line,
                 .project = project},
                &bytes);
  out.Emit(kRefused, 0, bytes);
}

std::optional<Refusal> FromTheFuture(const stream::RecordView& record, double event_time, double limit) {
  if (!(record.append_time > 0 && event_time > record.append_time + limit)) return std::nullopt;
  return Refusal{
      RefusalReason::kFromTheFuture,
      "the event time is " + std::to_string(event_time - record.append_time) + " s after the append time"};
}

}  // namespace cobblestone::stage
