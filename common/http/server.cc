#include "common/http/server.h"

#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <utility>

#include "common/base/thread.h"
#include "common/http/fair_pool.h"
#include "common/http/request_head.h"

namespace cobblestone::http {
namespace {

using boost::asio::ip::tcp;
using Local = boost::asio::local::stream_protocol;
using boost::system::error_code;

constexpr int kBacklog = 512;
// Delay after the system had no descriptor or no memory for a connection.
constexpr auto kAcceptAgainAfter = std::chrono::milliseconds(100);

// For IPv6 the first 64 bits: the owner of such a prefix has every address in it.
std::string AddressKey(const boost::asio::ip::address& address) {
  if (!address.is_v6() || address.to_v6().is_v4_mapped()) return address.to_string();
  auto bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
  return boost::asio::ip::address_v6(bytes).to_string();
}

}  // namespace

class Server::Impl final : public Host {
 public:
  Impl(ServerOptions options, Service& service)
      : options_(std::move(options)),
        service_(service),
        bodies_(options_.bodies),
        tcp_(io_),
        local_(io_),
        retry_(io_),
        drained_(io_),
        questions_(options_.question_threads),
        changes_(options_.change_threads, options_.change_threads_per_owner),
        producers_(options_.producer_threads) {}

  Status Start() {
    if (options_.tls) {
      tls_.emplace(boost::asio::ssl::context::tls_server);
      if (Status s = SetUpTls(*tls_->native_handle(), *options_.tls); !s.ok()) return s;
    }
    if (Status s = options_.unix_path.empty() ? ListenTcp() : ListenLocal(); !s.ok()) return s;
    Accept();
    thread_ = std::thread([this] {
      NameThread("http");
      for (;;) {
        try {
          io_.run();
          return;
        } catch (const std::exception&) {
          // Each connection guards its own handlers. An exception here is a temporary shortage of memory
          // between handlers.
        }
      }
    });
    return Status::Ok();
  }

  void Stop() {
    if (!thread_.joinable()) return;
    std::unique_lock lock(mutex_);
    if (!stop_asked_) {
      stop_asked_ = true;
      stopping_ = true;
      boost::asio::post(io_, [this] { BeginStop(); });
    }
    all_closed_.wait(lock, [&] { return all_gone_; });
  }

  ~Impl() override {
    if (!thread_.joinable()) return;
    Stop();
    questions_.join();
    changes_.Join();
    producers_.join();
    io_.stop();
    thread_.join();
  }

  [[nodiscard]] int port() const { return port_; }

  Service& service() override { return service_; }
  const ConnectionLimits& limits() const override { return options_.limits; }
  BodyBudget& bodies() override { return bodies_; }
  bool Run(Pool pool, const std::string& owner, std::function<void()> work) override {
    if (pool == Pool::kChanges) {
      changes_.Run(owner, std::move(work));
    } else {
      boost::asio::post(questions_, std::move(work));
    }
    return true;
  }
  bool RunProducer(std::function<void()> work) override {
    boost::asio::post(producers_, std::move(work));
    return true;
  }
  bool stopping() const override { return stopping_; }

 private:
  Status ListenTcp() {
    error_code error;
    const std::string host = options_.host == "localhost" ? "127.0.0.1" : options_.host;
    const auto address = boost::asio::ip::make_address(host, error);
    if (error) {
      // The host name of a local address.
      tcp::resolver resolver(io_);
      const auto found = resolver.resolve(host, std::to_string(options_.port), tcp::resolver::passive, error);
      if (error || found.empty()) return Status::InvalidArgument("unknown address " + options_.host);
      return Bind(*found.begin());
    }
    return Bind({address, static_cast<unsigned short>(options_.port)});
  }

  Status Bind(const tcp::endpoint& endpoint) {
    error_code error;
    tcp_.open(endpoint.protocol(), error);
    // Not SO_REUSEPORT: two programs on one port would each receive a part of the connections.
    if (!error) tcp_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) tcp_.bind(endpoint, error);
    if (!error) tcp_.listen(kBacklog, error);
    if (error) return Status::InvalidArgument(error.message());
    port_ = tcp_.local_endpoint().port();
    return Status::Ok();
  }

  Status ListenLocal() {
    error_code error;
    local_.open(Local(), error);
    // On Linux the socket file gets the mode of the descriptor.
    if (!error) ::fchmod(local_.native_handle(), 0600);
    if (!error) local_.bind(Local::endpoint(options_.unix_path), error);
    if (!error) local_.listen(kBacklog, error);
    if (error) return Status::InvalidArgument(error.message());
    return Status::Ok();
  }

  void Accept() {
    if (options_.unix_path.empty()) {
      tcp_.async_accept([this](const error_code& error, tcp::socket socket) {
        Accepted(error, [&] {
          error_code failed;
          const auto peer = socket.remote_endpoint(failed);
          if (failed) return;  // the client has already disconnected
          socket.set_option(tcp::no_delay(true), failed);
          std::string text = peer.address().to_string();
          const auto address = ParseIpAddress(text);
          const bool proxied =
              address && std::any_of(options_.proxies.begin(), options_.proxies.end(),
                                     [&](const IpNetwork& network) { return network.Contains(*address); });
          Admit(Socket(std::move(socket)), std::move(text), AddressKey(peer.address()), !proxied);
        });
      });
    } else {
      local_.async_accept([this](const error_code& error, Local::socket socket) {
        Accepted(error, [&] { Admit(Socket(std::move(socket)), "", "", false); });
      });
    }
  }

  template <class F>
  void Accepted(const error_code& error, F&& admit) {
    if (stopping_) return;
    if (error) {
      retry_.expires_after(kAcceptAgainAfter);
      retry_.async_wait([this](const error_code& cancelled) {
        if (!cancelled && !stopping_) Accept();
      });
      return;
    }
    try {
      admit();
    } catch (const std::exception&) {
      // The new connection is closed; the existing ones continue.
    }
    Accept();
  }

  void Admit(Socket socket, std::string peer, std::string key, bool counted) {
    if (counted && by_address_[key] >= options_.connections_per_address &&
        !Displace([&](const Connection& other) { return other.counted() && keys_.at(&other) == key; }))
      return;
    if (connections_.size() >= options_.connections && !Displace([](const Connection&) { return true; })) {
      if (counted && by_address_[key] == 0) by_address_.erase(key);
      return;
    }
    auto connection = std::make_shared<Connection>(
        io_, MakeStream(std::move(socket), tls_ ? &*tls_ : nullptr), std::move(peer), counted, *this,
        [this](Connection& closed) { Closed(closed); });
    connections_.emplace(connection.get(), connection);
    keys_.emplace(connection.get(), key);
    if (counted) ++by_address_[key];
    connection->Start();
  }

  // Closes the most dispensable connection; among equals, the one that has been in its phase for longest.
  template <class Among>
  bool Displace(Among&& among) {
    Connection* victim = nullptr;
    for (const auto& [other, held] : connections_) {
      if (other->Dispensable() == 0 || !among(*other)) continue;
      if (victim == nullptr || other->Dispensable() > victim->Dispensable() ||
          (other->Dispensable() == victim->Dispensable() && other->since() < victim->since()))
        victim = other;
    }
    if (victim == nullptr) return false;
    connections_.at(victim)->Close();
    return true;
  }

  void Closed(Connection& connection) {
    const auto key = keys_.find(&connection);
    if (key != keys_.end()) {
      if (connection.counted()) {
        const auto count = by_address_.find(key->second);
        if (count != by_address_.end() && --count->second == 0) by_address_.erase(count);
      }
      keys_.erase(key);
    }
    // The connection's last handler may be running: the connection is destroyed after the handler returns.
    const auto found = connections_.find(&connection);
    if (found == connections_.end()) return;
    boost::asio::post(io_, [kept = found->second] {});
    connections_.erase(found);
    if (closing_) NotifyWhenAllClosed();
  }

  // ---- The end ----------------------------------------------------------------------------------------------

  void BeginStop() {
    closing_ = true;
    error_code ignored;  // the sockets are closed either way
    tcp_.close(ignored);
    local_.close(ignored);
    retry_.cancel(ignored);
    for (const auto& connection : All()) connection->Stop();
    drained_.expires_after(options_.drain);
    drained_.async_wait([this](const error_code& error) {
      if (error) return;
      for (const auto& connection : All()) connection->Close();
    });
    NotifyWhenAllClosed();
  }

  std::vector<std::shared_ptr<Connection>> All() const {
    std::vector<std::shared_ptr<Connection>> all;
    for (const auto& [connection, held] : connections_) all.push_back(held);
    return all;
  }

  void NotifyWhenAllClosed() {
    if (!connections_.empty()) return;
    error_code ignored;
    drained_.cancel(ignored);
    const std::lock_guard lock(mutex_);
    all_gone_ = true;
    all_closed_.notify_all();
  }

  const ServerOptions options_;
  Service& service_;
  BodyBudget bodies_;
  int port_ = 0;

  boost::asio::io_context io_{1};
  // Keeps run() from returning while there is no work.
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
  std::optional<boost::asio::ssl::context> tls_;
  tcp::acceptor tcp_;
  Local::acceptor local_;
  boost::asio::steady_timer retry_;
  boost::asio::steady_timer drained_;

  // Used by `thread_` only.
  std::map<Connection*, std::shared_ptr<Connection>> connections_;
  std::map<const Connection*, std::string> keys_;
  std::map<std::string, std::size_t> by_address_;
  bool closing_ = false;

  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::condition_variable all_closed_;
  bool stop_asked_ = false;  // guarded by mutex_
  bool all_gone_ = false;    // guarded by mutex_

  boost::asio::thread_pool questions_;
  FairPool changes_;
  boost::asio::thread_pool producers_;
  std::thread thread_;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;
void Server::Stop() { impl_->Stop(); }
int Server::port() const { return impl_->port(); }

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options, Service& service) {
  auto impl = std::make_unique<Impl>(std::move(options), service);
  if (Status s = impl->Start(); !s.ok()) return s;
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

}  // namespace cobblestone::http
