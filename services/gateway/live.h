// Live figures for all viewers: while at least one stream is open, one thread reads the pipeline about once a second
// and sends the events to every stream. A slow stream misses events; a slow stream delays nobody.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "services/gateway/pipeline.h"
#include "services/gateway/rights/visibility.h"
#include "services/view/questions.h"

namespace cobblestone::gateway {

// One event in the wire format of a stream (text/event-stream). The JSON is one line.
std::string StreamEvent(std::string_view name, const nlohmann::json& data);
// An empty comment; sending it detects closed connections.
std::string StreamHeartbeat();

// Rates between two readings of the figures, `seconds` apart. `credit`: sum over `counted` sampled grants of that
// interval, in micro-credits.
struct CreditSeen {
  double micro = 0;
  std::uint64_t counted = 0;
};
nlohmann::json FlowJson(const Figures& before, const Figures& now, double seconds, const CreditSeen& credit,
                        double unix_time);

class LiveFeed;

// Stream of one viewer. Owner: one thread.
class LiveStream {
 public:
  ~LiveStream();
  // Next text to send. Waits some seconds at most, then returns a heartbeat. False: the stream has ended.
  bool Next(std::string* text);

 private:
  friend class LiveFeed;
  LiveStream(LiveFeed& feed, bool sees_all, bool sees_accounts);

  LiveFeed& feed_;
  const bool sees_all_;                                     // accounts that are hidden from others, too
  const bool sees_accounts_;                                // any grants and refusals
  std::deque<std::shared_ptr<const std::string>> waiting_;  // guarded by feed_.mutex_
  std::condition_variable ready_;
};

struct LiveOptions {
  std::size_t streams = 16;
  double every = 1;  // s
};

// Threads: any.
class LiveFeed {
 public:
  // All reference arguments must outlive the feed.
  LiveFeed(Pipeline& pipeline, view::Questions& questions, const Visibility& visibility,
           const LiveOptions& options);
  // All streams must be destroyed before.
  ~LiveFeed();

  // None if `streams` streams exist already, or the feed has stopped.
  std::shared_ptr<LiveStream> Watch(const Rights& viewer);
  // Ends all streams.
  void Stop();

 private:
  friend class LiveStream;

  struct Event {
    std::shared_ptr<const std::string> all;
    std::shared_ptr<const std::string> others;  // none: not for them
  };

  void Run();
  // Reads the figures; called without the lock.
  std::vector<Event> Look();
  void AddGrants(CreditSeen* credit, std::vector<Event>* events);
  void AddRefusal(std::vector<Event>* events);

  Pipeline& pipeline_;
  view::Questions& questions_;
  const Visibility& visibility_;
  const LiveOptions options_;

  // Used by the thread only.
  std::optional<Figures> before_;
  double before_at_ = 0;  // s, steady
  std::vector<std::uint64_t> ends_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<LiveStream*> streams_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace cobblestone::gateway
