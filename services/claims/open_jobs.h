// Jobs whose trickles are paid while they run, and trickles that wait for their job.
//
// A job is opened by its dispatch if its app pays for trickles, at the price of that moment
// (common/credit/trickles/trickle_policy.h). An operator may change the price while the job runs
// (repriced_jobs.cc). The job ends with the decision of its result. Only the host that it was sent to can add
// to it: jobs and names are kept by (result, host).
//
// Messages of a job arrive on their own topic and may arrive after its end, and so may its dispatch. If the
// app's setting is `keep`, late messages are paid, so that credit does not depend on the order: an ended job is
// kept as long as its result is remembered, and GRANTS, which has the result's grant, pays the part of the
// worth that exceeds it.
//
// A project that sends a lost task again to the same host dispatches the same result again, perhaps for
// another version. The newest dispatch replaces the others. Each sending starts at 0 and has its own
// high-water marks and prices. A message belongs to the sending that was the newest at the message's time.
// Payments for one sending count for all: a later sending is paid only for its worth beyond them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/agree.h"
#include "common/credit/trickles/partial_settlement.h"
#include "common/credit/trickles/trickle_policy.h"
#include "common/wire/events/event_stamp.h"
#include "services/claims/state.h"

namespace cobblestone::claims {

// The facts of a job that its dispatch and its completion share.
struct SentAs {
  std::uint64_t app = 0;
  std::int64_t version = 0;
  double peak_flops = 0;  // FLOP/s
  double sent_time = 0;   // UNIX s; 0: unknown
};
[[nodiscard]] inline SentAs SentAsOf(const credit::CompletionFacts& job) {
  return {.app = job.app.value,
          .version = job.version.value,
          .peak_flops = job.peak_flops,
          .sent_time = job.sent_time};
}
// UNIX s. A dispatch without a sent time counts as sent at its event time.
[[nodiscard]] inline double SentTimeOf(const credit::CompletionFacts& dispatch) {
  return dispatch.sent_time > 0 ? dispatch.sent_time : dispatch.event_time;
}
// Databases store whole seconds.
[[nodiscard]] inline bool AreOfOneSending(double sent_time, double other) {
  return sent_time > 0 && other > 0 && std::fabs(sent_time - other) < 1;
}
// Both speeds may have been stored in the project's database, so they need not be equal in every bit. The
// dispatch's speed prices trickles, the completion's speed the claim.
[[nodiscard]] inline bool AreOfOneJob(const SentAs& sent, const SentAs& back) {
  return sent.app == back.app && sent.version == back.version &&
         FiguresAgree(sent.peak_flops, back.peak_flops);
}
// `sent`: the known dispatches, by sent time. A completion belongs to the dispatch with its own sent time, or
// to the newest one if it has none. A completion of a later sending may arrive before its dispatch.
[[nodiscard]] inline bool IsOfOneOf(const std::vector<SentAs>& sent, const SentAs& back) {
  for (const SentAs& one : sent)
    if (AreOfOneSending(one.sent_time, back.sent_time)) return AreOfOneJob(one, back);
  const SentAs& newest = sent.back();
  return (newest.sent_time > 0 && back.sent_time > newest.sent_time) || AreOfOneJob(newest, back);
}
inline constexpr const char* kOtherJob =
    "dispatch and completion differ in app, in version, or by more than 10^-6 in peak FLOP/s";

// The state of one variety of trickles.
struct OpenTrickle {
  std::string variety;
  credit::TricklePrice price;  // in force
  credit::HighWaterMark high_water_mark;
  // The price of its dispatch, only for a job that was repriced: every later price is computed from it. Empty
  // otherwise, because jobs are many.
  std::vector<credit::TricklePrice> sent_price;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.variety, s.price, s.high_water_mark, s.sent_price);
  }
};

// The most dispatches of one result that are known at a time; the oldest are dropped.
inline constexpr std::size_t kMaxSendings = 16;

// Prices and high-water marks of one sending of the job.
struct Sending {
  double sent_time = 0;               // UNIX s
  std::int64_t version = 0;           // of the app
  std::vector<OpenTrickle> trickles;  // one for each rule

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.sent_time, s.version, s.trickles);
  }
};

// What operators have reversed while the job ran, of one owner's credit that was posted to one team.
struct ReversedPartial {
  UserId user;
  TeamId team;
  std::int64_t micro = 0;                // the sum of payments up to which everything is reversed
  std::vector<wire::EventStamp> stamps;  // the reversals

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.user, s.team, s.micro, s.stamps);
  }
};

struct OpenJob {
  std::uint64_t host = 0;
  std::uint64_t app = 0;
  std::uint64_t workunit = 0;
  std::string name;                   // of the result; empty: unknown
  bool priced = false;                // its host is known
  std::vector<OpenTrickle> trickles;  // of the newest sending, one for each rule
  std::vector<credit::PaidPartial> paid;
  std::int64_t version = 0;  // of the app
  // The result is decided; `paid` is the sum that the job would have been paid by now without the decision.
  bool ended = false;
  double return_time = 0;  // if ended: UNIX s, when the result came back
  std::uint64_t line = 0;  // if ended: of the decision
  double peak_flops = 0;   // if ended without a dispatch: the completion's, FLOP/s
  std::vector<ReversedPartial> reversed;
  std::string dispatch;  // bytes; only of a job that ended before its host was known, until the host is known
  std::vector<wire::EventStamp> repriced;  // of its repricings, in order
  double sent_time = 0;  // UNIX s, of `trickles`; before any dispatch arrives, the completion's; 0: unknown
  std::vector<Sending> earlier;       // in order of their sent times
  std::vector<std::string> replaced;  // with `dispatch`: the dispatches before it, in order

  // The earlier sending that was the newest at `time`, UNIX s; null: the present sending was the newest.
  [[nodiscard]] Sending* EarlierAt(double time) {
    if (earlier.empty() || sent_time <= time) return nullptr;
    const auto later = std::find_if(earlier.begin() + 1, earlier.end(),
                                    [&](const Sending& one) { return one.sent_time > time; });
    return &*std::prev(later);
  }
  // True if the dispatch has a sent time and belongs to none of the priced sendings.
  [[nodiscard]] bool IsFurther(const SentAs& next) const {
    const auto is_it = [&](double sent) { return AreOfOneSending(sent, next.sent_time); };
    return next.sent_time > 0 && sent_time > 0 && next.app == app && !is_it(sent_time) &&
           std::none_of(earlier.begin(), earlier.end(),
                        [&](const Sending& one) { return is_it(one.sent_time); });
  }
  // Requires that the job does not have this sending yet.
  void Add(Sending sending) {
    if (!std::exchange(priced, true)) {
      sent_time = sending.sent_time;
      version = sending.version;
      trickles = std::move(sending.trickles);
      return;
    }
    if (sending.sent_time > sent_time) {
      std::swap(sending.sent_time, sent_time);
      std::swap(sending.version, version);
      sending.trickles.swap(trickles);
    }
    const auto later = std::find_if(earlier.begin(), earlier.end(),
                                    [&](const Sending& one) { return one.sent_time > sending.sent_time; });
    earlier.insert(later, std::move(sending));
    if (earlier.size() >= kMaxSendings) earlier.erase(earlier.begin());
  }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.host, s.app, s.workunit, s.name, s.priced, s.trickles, s.paid, s.version, s.ended, s.return_time,
      s.line, s.reversed, s.dispatch, s.repriced, s.peak_flops, s.sent_time, s.earlier, s.replaced);
  }
};

// By a fingerprint of the name, and host.
struct NamedResult {
  std::string name;
  std::uint64_t result = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.name, s.result);
  }
};

// Trickles whose dispatch or host has not arrived; in order of arrival.
struct WaitingTrickles {
  double since = 0;  // event time of the first, UNIX s
  std::vector<WaitingEvent> events;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.since, s.events);
  }
};

// Limits of the trickles that wait for one job, by number and total bytes: years of messages. More are refused.
inline constexpr std::size_t kMaxWaitingTrickles = 4096;
inline constexpr std::size_t kMaxWaitingTrickleBytes = 4u << 20;

// Key of `NamedResult`, and of trickles that wait for one.
inline stream::Key NameKey(ProjectId project, std::string_view name, HostId host) {
  return {.project = project.value, .id = stream::HashBytes(name).low, .sub = host.value};
}

// Tables of a slot, as stored (numbers are unique over all stages).
inline constexpr stream::TableSpec<OpenJob> kJobsTable{.id = 11, .version = 1};
inline constexpr stream::TableSpec<NamedResult> kNamesTable{.id = 12, .version = 1};
inline constexpr stream::TableSpec<WaitingTrickles> kWaitingTricklesTable{.id = 13, .version = 1};
inline constexpr stream::TableSpec<WaitingTrickles> kWaitingNamesTable{.id = 14, .version = 1};

}  // namespace cobblestone::claims
