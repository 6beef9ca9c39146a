// Live figures for all who watch: one thread looks at the pipeline about once a second while somebody does, and what it
// makes of it goes to every stream. A stream that is read too slowly misses events; it holds nobody up.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "services/gateway/pipeline.h"
#include "services/gateway/visibility.h"
#include "services/view/questions.h"

namespace cobblestone::gateway {

// One event of a stream, as it goes over the wire (text/event-stream). The JSON is one line.
std::string StreamEvent(std::string_view name, const nlohmann::json& data);
// What says nothing, and finds out who has gone away.
std::string StreamHeartbeat();

// Rates of what lies between two looks, `seconds` apart. `credit`: micro-credits of `counted` grants among those between.
struct CreditSeen {
  double micro = 0;
  std::uint64_t counted = 0;
};
nlohmann::json FlowJson(const Figures& before, const Figures& now, double seconds, const CreditSeen& credit,
                        double unix_time);

class LiveFeed;

// One who watches. Owner: one thread.
class LiveStream {
 public:
  ~LiveStream();
  // What is to be sent next; waits for it, for some seconds at most (then a heartbeat). False: the stream is over.
  bool Next(std::string* text);

 private:
  friend class LiveFeed;
  LiveStream(LiveFeed& feed, bool sees_all, bool sees_accounts);

  LiveFeed& feed_;
  const bool sees_all_;                                     // whatever people show
  const bool sees_accounts_;                                // grants and refusals at all
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
  // What is given must outlive it.
  LiveFeed(Pipeline& pipeline, view::Questions& questions, const Visibility& visibility,
           const LiveOptions& options);
  // All streams must be gone.
  ~LiveFeed();

  // None where there are `streams` already, or it has stopped.
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
  // Between two looks, without the lock.
  std::vector<Event> Look();
  void AddGrants(CreditSeen* credit, std::vector<Event>* events);
  void AddRefusal(std::vector<Event>* events);

  Pipeline& pipeline_;
  view::Questions& questions_;
  const Visibility& visibility_;
  const LiveOptions options_;

  // The thread's.
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
