// A network that fails: a TCP proxy between Kafka clients and one broker, which knows of the protocol what it takes to
// harm a chosen request: length, ApiKey, correlation id. It changes no byte; the broker names the proxy as its address by
// itself (kafka-local --proxy), so that clients stay here.
//
// Threads: any; the connections are served by a thread of the proxy's own.
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

// Kafka's ApiKeys. Others pass as well.
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
  kDelay,       // the answer comes later, and so do those behind it on the connection
  kCutBefore,   // the connection is cut, the broker never sees the request
  kCutAfter,    // the connection is cut when the broker has the request: it takes effect or not, nobody knows
  kLoseAndCut,  // it took effect, its answer is lost, the connection is cut
  kLoseAndHang,  // it took effect, its answer is lost, and nothing comes through any more, until the client gives up
};
std::string_view FaultName(FaultKind kind);

// For the kinds that lose an answer only answers without an error count as an effect; others pass, and the fault waits
// for the next one. Errors are read of EndTxn, AddOffsetsToTxn, InitProducerId, Heartbeat and TxnOffsetCommit.
struct Fault {
  static constexpr int kAlways = -1;

  FaultKind kind = FaultKind::kDelay;
  std::optional<KafkaApi> api{};  // none: any
  std::string client{};           // part of the client.id; empty: any
  double probability = 1;         // of each request that fits
  int times = kAlways;            // after so many it is over
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
  // Where connections go from now on, "127.0.0.1:port". Until then they are refused.
  void SetBroker(const std::string& address);

  // Of several faults that fit a request the first that strikes has it.
  void Inject(const Fault& fault);
  // No request that comes from now on is harmed; what hangs goes on hanging.
  void StopFaults();
  // How often each has struck.
  [[nodiscard]] Counts counts() const;
  [[nodiscard]] int Count(FaultKind kind, std::optional<KafkaApi> api = {}) const;
  // Until it has struck so often in all; false: the time is over.
  [[nodiscard]] bool Await(FaultKind kind, KafkaApi api, int count, std::chrono::milliseconds at_most) const;
  // Connections there have been.
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
  // Null: none.
  std::shared_ptr<Fault> Strike(const Request& request);
  void Struck(FaultKind kind, KafkaApi api);
  // It came to nothing.
  void GiveBack(const std::shared_ptr<Fault>& fault);

  int listener_ = -1;
  int wake_[2] = {-1, -1};
  std::string address_;
  std::atomic<std::uint16_t> broker_port_{0};
  std::atomic<int> connections_{0};
  std::atomic<bool> stopping_{false};
  std::list<std::unique_ptr<Connection>> open_;  // the thread's

  mutable std::mutex mutex_;
  mutable std::condition_variable struck_;
  std::mt19937_64 random_;                      // guarded by mutex_, as are the next
  std::vector<std::shared_ptr<Fault>> faults_;  // `times` counts down
  Counts counts_;

  std::thread thread_;
};

// "LoseAndCut EndTxn 3", a line for each.
std::string Describe(const KafkaProxy::Counts& counts);

}  // namespace cobblestone::testing
