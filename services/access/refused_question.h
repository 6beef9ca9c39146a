// Questions about refused records, the same on both backends. A backend contributes a reader of the records and a
// function that sends events again.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/stream/record.h"
#include "services/access/question.h"

namespace cobblestone::access {

// Records examined by one question; the caller continues behind them.
inline constexpr std::uint64_t kMaxRefusalsShown = 10000;
inline constexpr std::uint64_t kResubmitBlock = 1000;

// What a backend contributes.
struct RefusedSource {
  std::uint32_t partitions = 1;
  // Visits the refused records from number `from` on, ascending, until `visit` returns false. Returns the number behind
  // the last record of all. On Kafka the markers of transactions have numbers, too.
  std::function<Result<std::uint64_t>(
      std::uint64_t from, const std::function<bool(std::uint64_t number, std::string_view record)>& visit)>
      read;
  // Offsets behind the last records of these partitions.
  std::function<Result<std::vector<std::uint64_t>>(const std::vector<stream::TopicPartition>& where)> ends;
};
// Appends the events in this order, in few commits; durable on return. On an error a part may have been appended.
using EventSender = std::function<Status(const std::vector<std::string>& events)>;

// /refused?from=N&limit=M[&last=L][&reasons=A,B]
//     {"refused": [...], "all"}: records from number N on, or the L newest, ascending; `reasons`: only these
// /refused/point
//     {"all", "since"}: a point in the refused records and in the events, for /refused/count
// /refused/count?from=N&since=S[&of_project=P]
//     Of the refused records from number N on: {"events", "results", "derived", "reasons": {name: number}, "kinds": {name:
//     number}, "earlier", "first": [...]}. "events" were appended after the point, "results" are completions among them,
//     "earlier" are events appended before the point, "derived" are claims and grants that the stages made from accepted
//     events. "reasons" and "first" are of "events" and "derived", "kinds" of "events". Lines that are not events are not
//     counted. `of_project`: only events of this project, which the pipeline need not know, and of none, such as barriers.
// InvalidArgument: a parameter is not a number, or too large.
Result<nlohmann::json> AnswerRefused(const Question& question, const RefusedSource& source);
inline constexpr std::size_t kRefusalsFirst = 20;  // "first"

// /refused/resubmit?offset=N
//     {"resubmitted": N}. NotFound: no such record. InvalidArgument: it cannot be resubmitted; says why.
// /refused/resubmit?from=N&to=M[&reasons=A,B][&limit=L][&dry_run=1]
//     Sends the events of the records N <= number < M, at most L of them (1,000). {"resubmitted": [...], "left": [...],
//     "next", "all"}: each with "number", "reason", "detail" and "kind"; those left have "why"; the caller continues
//     at `next`. With dry_run nothing is sent.
Result<nlohmann::json> AnswerResubmit(const Question& question, const RefusedSource& source,
                                      const EventSender& send);

}  // namespace cobblestone::access
