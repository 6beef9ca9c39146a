// One connection of the server. It processes requests one after the other; a request is answered once it is
// complete. Internal to this folder and to the fuzz target, which uses a socket pair.
//
//   handshake -> head -> (body) -> answer on a pool -> write -> head ...
//                  |        |                            |
//                  +--------+--- refused: write ---------+-> linger -> closed
//
// Everything except making an answer runs on the io_context's one thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/http/message.h"
#include "common/http/stream.h"

namespace cobblestone::http {

struct ConnectionLimits {
  std::chrono::milliseconds head{30000};    // for a complete head, and for the TLS handshake
  std::chrono::milliseconds body{30000};    // for a complete body
  std::chrono::milliseconds answer{30000};  // for a complete answer; of a Producer: for each piece
  std::chrono::milliseconds idle{15000};    // between two requests
};

// Memory for bodies that are being read or answered. One owner may use half of it.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t most) : most_(most) {}
  bool Take(const std::string& owner, std::size_t size);
  void Give(const std::string& owner, std::size_t size);

 private:
  const std::size_t most_;
  std::size_t taken_ = 0;
  std::map<std::string, std::size_t> by_owner_;
};

// The server as seen by a connection.
class Host {
 public:
  virtual ~Host() = default;
  virtual Service& service() = 0;
  virtual const ConnectionLimits& limits() const = 0;
  virtual BodyBudget& bodies() = 0;
  // Runs `work` on a thread of the pool. False: the server is stopping.
  virtual bool Run(Pool pool, const std::string& owner, std::function<void()> work) = 0;
  // As Run(), on the threads for answers in pieces.
  virtual bool RunProducer(std::function<void()> work) = 0;
  virtual bool stopping() const = 0;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // `closed` is called once, after the socket was closed.
  Connection(boost::asio::io_context& io, std::unique_ptr<Stream> stream, std::string peer, bool direct,
             Host& host, std::function<void(Connection&)> closed);

  void Start();
  void Close();
  // The server stops: closes a connection that is idle or receiving a request; an answer in progress is sent
  // first.
  void Stop();

  // Priority for closing the connection in favor of a new one: 0 never (an answer is owed), higher values
  // sooner.
  [[nodiscard]] int Dispensable() const;
  [[nodiscard]] std::chrono::steady_clock::time_point since() const { return since_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }
  // Whether the connection counts against the limit per address.
  [[nodiscard]] bool counted() const { return direct_; }

 private:
  enum class Phase { kHandshake, kIdle, kHead, kBody, kAnswering, kWriting, kStreaming, kLingering, kClosed };
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void Enter(Phase phase, std::chrono::milliseconds deadline);
  void OnDeadline();
  // Runs `f` for a handler: an exception closes only this connection.
  template <class F>
  void Guarded(F&& f);
  void Write(const std::vector<boost::asio::const_buffer>& buffers, void (Connection::*next)());
  // Calls `next` with the size of the received data, which is at the end of the buffer.
  void ReadMore(void (Connection::*next)(std::size_t size));

  void ReadHead();
  void OnHeadBytes(std::size_t size);
  void OnHead(std::string_view text);
  void ReadBody();
  void OnBodyBytes(std::size_t size);
  void OnBody();
  // Sends an error answer and closes.
  void Fail(int status, const std::string& message);
  void Send(Response response, bool close);
  void OnWritten();
  void NextPiece();
  void SendPiece(bool more, const std::string& piece);
  void Linger();
  void OnLingered(std::size_t size);
  void GiveBody();

  boost::asio::io_context& io_;
  const std::unique_ptr<Stream> stream_;
  const std::string peer_;
  const bool direct_;
  Host& host_;
  const std::function<void(Connection&)> closed_;

  Phase phase_ = Phase::kHandshake;
  std::chrono::steady_clock::time_point since_;
  boost::asio::steady_timer deadline_;
  std::vector<char> buffer_;  // [begin_, end_): read and not yet used
  std::size_t begin_ = 0;
  std::size_t end_ = 0;

  bool reading_ = false;
  void (Connection::*on_read_)(std::size_t size) = nullptr;

  std::shared_ptr<Head> head_;  // of the current request
  Plan plan_;
  std::optional<Parser> parser_;  // of the current request's body
  std::size_t body_taken_ = 0;    // of the budget
  bool whole_ = true;             // the request was read completely
  bool close_ = false;            // after the current answer
  std::string out_head_;
  Response out_;
  std::size_t lingered_ = 0;
};

}  // namespace cobblestone::http
