#include "services/kafka/kafka_clock.h"

#include <utility>

#include "common/wire/control/topics.h"
#include "services/pipeline/event_time.h"

namespace cobblestone::kafka {

using pipeline::EncodeTick;
using pipeline::Ticker;
using pipeline::TickerOptions;

void KafkaClock::Look(bool owned, double now) {
  if (!owned) {
    publisher_.reset();
    return;
  }
  if (publisher_ == nullptr) {
    auto publisher = client::Publisher::Open(
        cluster_,
        {.source = "ticks", .partitions = options_.partitions, .producers_topic = options_.producers_topic});
    if (!publisher.ok()) return options_.report("cannot send ticks yet: " + publisher.status().message());
    publisher_ = std::move(*publisher);
    const auto last = static_cast<double>(publisher_->state().events);
    // The operator's permission applies to the first reading of the clock in this process, not to each time that the
    // slot returns.
    ticker_ = std::make_unique<Ticker>(TickerOptions{.last = last,
                                                     .future_limit = options_.future_limit,
                                                     .accept_jump = options_.accept_jump && !accepted_});
    accepted_ = true;
  }
  const Ticker::Look look = ticker_->OnClock(now);
  if (!look.warning.empty()) options_.report(look.warning);
  if (!look.tick) return;
  publisher_->AddTo({wire::kCatalogue, 0}, EncodeTick({}, *look.tick));
  const Status s = publisher_->Commit({.events = static_cast<std::uint64_t>(*look.tick)});
  if (s.ok()) return;
  options_.report("cannot send a tick: " + s.message());
  publisher_.reset();  // the next call reads the position of the published ticks again
}

}  // namespace cobblestone::kafka
