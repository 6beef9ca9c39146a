// A failing network: a TCP proxy between Kafka clients and one broker. It understands just enough of the protocol to
// harm a chosen request: length, ApiKey and correlation id. It changes no byte. The broker itself advertises the
// proxy's address (kafka-local --proxy), so clients stay on the proxy.
//
// Threads: any; the proxy serves the connections in its own thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace cobblestone::testing {

// Kafka's ApiKeys. Requests with other keys are forwarded as well.
enum class KafkaApi : std::int16_t {
  kProduce = 0,
  kFetch = 1,
  kListOffsets = 2,
  kMetadata = 3,
  kOffsetFetch = 9,
  kFindCoordinator = 10,
  kJoinGroup = 11,
  kHeartbeat = 12,
  kLeaveGroup = 13,
  kSyncGroup = 14,
  kApiVersions = 18,
  kInitProducerId = 22,
  kAddPartitionsToTxn = 24,
  kAddOffsetsToTxn = 25,
  kEndTxn = 26,
  kTxnOffsetCommit = 28,
};
std::string ApiName(KafkaApi api);

enum class FaultKind : std::uint8_t {
  kDelay,       // the answer is delayed, and so are later answers on the connection
  kCutBefore,   // the connection is cut before the broker sees the request
  kCutAfter,    // the connection is cut after the broker has the request, which may or may not take effect
  kLoseAndCut,  // the request took effect, its answer is lost, the connection is cut
  kLoseAndHang,  // the request took effect, its answer is lost, and the connection hangs until the client gives up
};
std::string_view FaultName(FaultKind kind);

// The kinds that lose an answer strike only answers without an error. Answers with an error pass, and the fault waits
// for the next one. Errors are decoded for EndTxn, AddOffsetsToTxn, InitProducerId, Heartbeat and TxnOffsetCommit.
struct Fault {
  static constexpr int kAlways = -1;

  FaultKind kind = FaultKind::kDelay;
  std::optional<KafkaApi> api{};  // none: any
  std::string client{};           // part of the client.id; empty: any
  double probability = 1;         // per matching request
  int times = kAlways;            // maximum number of strikes
  std::chrono::milliseconds delay{0};
};

class KafkaProxy {
 public:
  using Counts = std::map<std::pair<FaultKind, KafkaApi>, int>;

  // Listens on 127.0.0.1.
  explicit KafkaProxy(std::uint64_t seed);
  ~KafkaProxy();
  KafkaProxy(const KafkaProxy&) = delete;
  KafkaProxy& operator=(const KafkaProxy&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  // Target of connections from now on, "127.0.0.1:port". Connections before the first call are refused.
  void SetBroker(const std::string& address);

  // If several faults match a request, the first one that strikes applies.
  void Inject(const Fault& fault);
  // Later requests are not harmed; connections that hang continue to hang.
  void StopFaults();
  // How often each fault has struck.
  [[nodiscard]] Counts counts() const;
  [[nodiscard]] int Count(FaultKind kind, std::optional<KafkaApi> api = {}) const;
  // Waits until the fault has struck `count` times in total; false: not in time.
  [[nodiscard]] bool Await(FaultKind kind, KafkaApi api, int count, std::chrono::milliseconds at_most) const;
  // Number of connections so far.
  [[nodiscard]] int connections() const { return connections_; }

 private:
  class Connection;
  struct Request {
    KafkaApi api{};
    int version = 0;
    std::int32_t correlation = 0;
    std::string_view client;
  };

  void Serve();
  void Accept();
  // Null: no fault.
  std::shared_ptr<Fault> Strike(const Request& request);
  void Struck(FaultKind kind, KafkaApi api);
  // Restores a fault whose answer had an error.
  void Rearm(const std::shared_ptr<Fault>& fault);

  int listener_ = -1;
  int wake_[2] = {-1, -1};
  std::string address_;
  std::atomic<std::uint16_t> broker_port_{0};
  std::atomic<int> connections_{0};
  std::atomic<bool> stopping_{false};
  std::list<std::unique_ptr<Connection>> open_;  // used by thread_ only

  mutable std::mutex mutex_;
  mutable std::condition_variable struck_;
  std::mt19937_64 random_;                      // guarded by mutex_, as are the next two
  std::vector<std::shared_ptr<Fault>> faults_;  // `times` counts down
  Counts counts_;

  std::thread thread_;
};

// "LoseAndCut EndTxn 3", one line per fault.
std::string Describe(const KafkaProxy::Counts& counts);

}  // namespace cobblestone::testing
