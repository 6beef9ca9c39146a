#include "tests/support/kafka_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <stdexcept>

namespace cobblestone::testing {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMaxFrameBytes = 256u << 20;
constexpr std::size_t kReadBytes = 256u << 10;

[[noreturn]] void Die(const std::string& what) {
  throw std::runtime_error("proxy: " + what + ": " + std::generic_category().message(errno));
}

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void Prepare(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

// Reads Kafka's encoding from the front. Past the end everything is 0.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : text_(text) {}

  std::uint64_t Number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (const char c : Take(bytes)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  std::int16_t Int16() { return static_cast<std::int16_t>(Number(2)); }
  std::int32_t Int32() { return static_cast<std::int32_t>(Number(4)); }
  std::uint32_t Varint() {
    std::uint32_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
      const auto byte = static_cast<std::uint32_t>(Number(1));
      value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }
  std::string_view Take(std::size_t bytes) {
    const std::string_view taken = text_.substr(0, bytes);
    text_.remove_prefix(taken.size());
    return taken;
  }
  void SkipTags() {
    for (std::uint32_t n = Varint(); n > 0 && !text_.empty(); --n) {
      (void)Varint();
      (void)Take(Varint());
    }
  }

 private:
  std::string_view text_;
};

int FirstFlexibleVersion(KafkaApi api) {
  switch (api) {
    case KafkaApi::kInitProducerId: return 2;
    case KafkaApi::kHeartbeat: return 4;
    default: return 3;
  }
}

// The error code of an answer, for the APIs that the proxy decodes.
int ErrorIn(KafkaApi api, int version, std::string_view answer) {
  Bytes bytes(answer);
  (void)bytes.Int32();  // correlation id
  const bool flexible = version >= FirstFlexibleVersion(api);
  if (flexible) bytes.SkipTags();
  switch (api) {
    case KafkaApi::kEndTxn:
    case KafkaApi::kAddOffsetsToTxn:
    case KafkaApi::kInitProducerId:
    case KafkaApi::kHeartbeat:
      if (api != KafkaApi::kHeartbeat || version >= 1) (void)bytes.Int32();  // throttle time
      return bytes.Int16();
    case KafkaApi::kTxnOffsetCommit: {
      (void)bytes.Int32();
      const auto count = [&] {
        return flexible ? static_cast<std::int32_t>(bytes.Varint()) - 1 : bytes.Int32();
      };
      for (std::int32_t topics = count(); topics > 0; --topics) {
        (void)bytes.Take(flexible ? bytes.Varint() - 1 : static_cast<std::size_t>(bytes.Int16()));
        for (std::int32_t partitions = count(); partitions > 0; --partitions) {
          (void)bytes.Int32();
          if (const int error = bytes.Int16(); error != 0) return error;
          if (flexible) bytes.SkipTags();
        }
        if (flexible) bytes.SkipTags();
      }
      return 0;
    }
    default: return 0;
  }
}

// Takes the first frame, its length included, from `from`; empty: it is incomplete. False: the bytes are no frames.
bool TakeFrame(std::string* from, std::string* frame) {
  frame->clear();
  if (from->size() < 4) return true;
  const auto size = static_cast<std::uint32_t>(Bytes(*from).Number(4));
  if (size > kMaxFrameBytes || size < 4) return false;
  if (from->size() < 4 + std::size_t{size}) return true;
  *frame = from->substr(0, 4 + std::size_t{size});
  from->erase(0, frame->size());
  return true;
}

// Appends the received bytes. False: the peer has closed the connection.
bool Receive(int fd, std::string* to) {
  char some[kReadBytes];
  const ssize_t got = ::recv(fd, some, sizeof some, 0);
  if (got > 0) to->append(some, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

bool Send(int fd, std::string* from) {
  if (from->empty()) return true;
  const ssize_t sent = ::send(fd, from->data(), from->size(), MSG_NOSIGNAL);
  if (sent > 0) from->erase(0, static_cast<std::size_t>(sent));
  return sent >= 0 || errno == EAGAIN || errno == EINTR;
}

}  // namespace

std::string ApiName(KafkaApi api) {
  switch (api) {
    case KafkaApi::kProduce: return "Produce";
    case KafkaApi::kFetch: return "Fetch";
    case KafkaApi::kListOffsets: return "ListOffsets";
    case KafkaApi::kMetadata: return "Metadata";
    case KafkaApi::kOffsetFetch: return "OffsetFetch";
    case KafkaApi::kFindCoordinator: return "FindCoordinator";
    case KafkaApi::kJoinGroup: return "JoinGroup";
    case KafkaApi::kHeartbeat: return "Heartbeat";
    case KafkaApi::kLeaveGroup: return "LeaveGroup";
    case KafkaApi::kSyncGroup: return "SyncGroup";
    case KafkaApi::kApiVersions: return "ApiVersions";
    case KafkaApi::kInitProducerId: return "InitProducerId";
    case KafkaApi::kAddPartitionsToTxn: return "AddPartitionsToTxn";
    case KafkaApi::kAddOffsetsToTxn: return "AddOffsetsToTxn";
    case KafkaApi::kEndTxn: return "EndTxn";
    case KafkaApi::kTxnOffsetCommit: return "TxnOffsetCommit";
  }
  return "ApiKey " + std::to_string(static_cast<int>(api));
}

std::string_view FaultName(FaultKind kind) {
  switch (kind) {
    case FaultKind::kDelay: return "Delay";
    case FaultKind::kCutBefore: return "CutBefore";
    case FaultKind::kCutAfter: return "CutAfter";
    case FaultKind::kLoseAndCut: return "LoseAndCut";
    case FaultKind::kLoseAndHang: return "LoseAndHang";
  }
  return "";
}

std::string Describe(const KafkaProxy::Counts& counts) {
  std::string text;
  for (const auto& [what, count] : counts)
    text +=
        std::string(FaultName(what.first)) + " " + ApiName(what.second) + " " + std::to_string(count) + "\n";
  return text;
}

// ---- One connection -------------------------------------------------------------------------------------------------

class KafkaProxy::Connection {
 public:
  Connection(KafkaProxy& proxy, int client, int broker) : proxy_(proxy), client_(client), broker_(broker) {}
  ~Connection() {
    for (const InFlight& one : in_flight_)
      if (one.lose != nullptr) proxy_.Rearm(one.lose);
    ::close(client_);
    ::close(broker_);
  }

  void AddTo(std::vector<pollfd>* polled) const {
    const auto events = [](const std::string& out) {
      return static_cast<short>(out.empty() ? POLLIN : POLLIN | POLLOUT);
    };
    polled->push_back({.fd = client_, .events = events(to_client_), .revents = 0});
    polled->push_back({.fd = broker_, .events = events(to_broker_), .revents = 0});
  }
  [[nodiscard]] Clock::time_point due() const {
    return answers_.empty() ? Clock::time_point::max() : answers_.front().first;
  }

  // Forwards received bytes as far as the faults allow. False: the connection is finished.
  bool Step(const pollfd& client, const pollfd& broker) {
    if (client.revents != 0 && !Receive(client_, &from_client_)) return false;
    if (hangs_) {
      from_client_.clear();
      return true;
    }
    if (broker.revents != 0 && !Receive(broker_, &from_broker_)) return false;
    std::string frame;
    while (!cut_) {
      if (!TakeFrame(&from_client_, &frame)) return false;
      if (frame.empty()) break;
      if (!TakeRequest(std::move(frame))) return false;
    }
    while (!cut_ && !hangs_) {
      if (!TakeFrame(&from_broker_, &frame)) return false;
      if (frame.empty()) break;
      if (!TakeAnswer(std::move(frame))) return false;
    }
    const auto now = Clock::now();
    while (!answers_.empty() && answers_.front().first <= now) {
      to_client_ += answers_.front().second;
      answers_.pop_front();
    }
    if (!Send(broker_, &to_broker_) || !Send(client_, &to_client_)) return false;
    return !cut_ || !to_broker_.empty();
  }

 private:
  struct InFlight {
    KafkaApi api{};
    int version = 0;
    std::int32_t correlation = 0;
    std::chrono::milliseconds delay{0};
    std::shared_ptr<Fault> lose{};
  };

  // False: the connection is cut here.
  bool TakeRequest(std::string frame) {
    Bytes bytes(std::string_view(frame).substr(4));
    Request request;
    request.api = static_cast<KafkaApi>(bytes.Int16());
    request.version = bytes.Int16();
    request.correlation = bytes.Int32();
    request.client = bytes.Take(static_cast<std::size_t>(std::max<std::int16_t>(0, bytes.Int16())));
    InFlight one{.api = request.api, .version = request.version, .correlation = request.correlation};
    if (const auto fault = proxy_.Strike(request)) {
      switch (fault->kind) {
        case FaultKind::kDelay: one.delay = fault->delay; break;
        case FaultKind::kCutBefore: proxy_.Struck(fault->kind, request.api); return false;
        case FaultKind::kCutAfter: cut_ = true; break;
        case FaultKind::kLoseAndCut:
        case FaultKind::kLoseAndHang: one.lose = fault; break;
      }
      if (one.lose == nullptr) proxy_.Struck(fault->kind, request.api);
    }
    in_flight_.push_back(std::move(one));
    to_broker_ += frame;
    return true;
  }

  bool TakeAnswer(std::string frame) {
    const std::string_view answer = std::string_view(frame).substr(4);
    const std::int32_t correlation = Bytes(answer).Int32();
    // Requests without an answer are dropped.
    while (!in_flight_.empty() && in_flight_.front().correlation != correlation) in_flight_.pop_front();
    if (in_flight_.empty()) throw std::logic_error("proxy: an answer to no request");
    const InFlight one = std::move(in_flight_.front());
    in_flight_.pop_front();
    if (one.lose != nullptr) {
      if (ErrorIn(one.api, one.version, answer) == 0) {
        proxy_.Struck(one.lose->kind, one.api);
        if (one.lose->kind == FaultKind::kLoseAndCut) return false;
        hangs_ = true;
        return true;
      }
      proxy_.Rearm(one.lose);
    }
    const auto at = Clock::now() + one.delay;
    answers_.emplace_back(answers_.empty() ? at : std::max(at, answers_.back().first), std::move(frame));
    return true;
  }

  KafkaProxy& proxy_;
  const int client_;
  const int broker_;
  std::string from_client_;
  std::string to_client_;
  std::string from_broker_;
  std::string to_broker_;
  std::deque<InFlight> in_flight_;
  std::deque<std::pair<Clock::time_point, std::string>> answers_;  // with the time at which they may be sent
  bool cut_ = false;  // as soon as the broker has received everything
  bool hangs_ = false;
};

// ---- The proxy ------------------------------------------------------------------------------------------------------

KafkaProxy::KafkaProxy(std::uint64_t seed) : random_(seed) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::listen(listener_, 128) != 0 || ::pipe2(wake_, O_CLOEXEC) != 0)
    Die("cannot listen");
  address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  thread_ = std::thread([this] { Serve(); });
}

KafkaProxy::~KafkaProxy() {
  stopping_ = true;
  if (::write(wake_[1], "", 1) != 1) std::terminate();  // the pipe is empty, so it accepts a byte
  thread_.join();
  open_.clear();
  for (const int fd : {listener_, wake_[0], wake_[1]}) ::close(fd);
}

void KafkaProxy::SetBroker(const std::string& address) {
  broker_port_ = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

void KafkaProxy::Serve() {
  std::vector<pollfd> polled;
  while (!stopping_) {
    polled.clear();
    polled.push_back({.fd = wake_[0], .events = POLLIN, .revents = 0});
    polled.push_back({.fd = listener_, .events = POLLIN, .revents = 0});
    auto due = Clock::time_point::max();
    for (const auto& connection : open_) {
      connection->AddTo(&polled);
      due = std::min(due, connection->due());
    }
    int wait = -1;
    if (due != Clock::time_point::max())
      wait = static_cast<int>(std::max<std::int64_t>(
          0, std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now()).count()));
    if (::poll(polled.data(), polled.size(), wait) < 0 && errno != EINTR) Die("cannot wait");
    std::size_t at = 2;
    for (auto it = open_.begin(); it != open_.end(); at += 2)
      it = (*it)->Step(polled[at], polled[at + 1]) ? std::next(it) : open_.erase(it);
    if (polled[1].revents != 0) Accept();
  }
}

void KafkaProxy::Accept() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;  // the client has disconnected again
  const int broker = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(broker_port_);
  if (broker < 0 || broker_port_ == 0 ||
      ::connect(broker, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(client);
    if (broker >= 0) ::close(broker);
    return;
  }
  Prepare(client);
  Prepare(broker);
  ++connections_;
  open_.push_back(std::make_unique<Connection>(*this, client, broker));
}

void KafkaProxy::Inject(const Fault& fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(std::make_shared<Fault>(fault));
}

void KafkaProxy::StopFaults() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
}

std::shared_ptr<Fault> KafkaProxy::Strike(const Request& request) {
  const std::lock_guard lock(mutex_);
  for (const auto& fault : faults_) {
    if (fault->times == 0 || (fault->api && *fault->api != request.api) ||
        request.client.find(fault->client) == std::string_view::npos)
      continue;
    if (fault->probability < 1 && std::uniform_real_distribution<>(0, 1)(random_) >= fault->probability)
      continue;
    if (fault->times != Fault::kAlways) --fault->times;
    return fault;
  }
  return nullptr;
}

void KafkaProxy::Struck(FaultKind kind, KafkaApi api) {
  {
    const std::lock_guard lock(mutex_);
    ++counts_[{kind, api}];
  }
  struck_.notify_all();
}

void KafkaProxy::Rearm(const std::shared_ptr<Fault>& fault) {
  const std::lock_guard lock(mutex_);
  if (fault->times != Fault::kAlways) ++fault->times;
}

KafkaProxy::Counts KafkaProxy::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

int KafkaProxy::Count(FaultKind kind, std::optional<KafkaApi> api) const {
  int sum = 0;
  for (const auto& [what, count] : counts())
    if (what.first == kind && (!api || what.second == *api)) sum += count;
  return sum;
}

bool KafkaProxy::Await(FaultKind kind, KafkaApi api, int count, std::chrono::milliseconds at_most) const {
  std::unique_lock lock(mutex_);
  return struck_.wait_for(lock, at_most, [&] {
    const auto found = counts_.find({kind, api});
    return found != counts_.end() && found->second >= count;
  });
}

}  // namespace cobblestone::testing
