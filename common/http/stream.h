// The bytes of one connection: TCP or a Unix socket, with or without TLS. Internal to this folder.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <vector>

namespace cobblestone::http {

using Socket = boost::asio::generic::stream_protocol::socket;

// Owner and thread: the connection's. Handlers run on the io_context of the socket, never within the call.
class Stream {
 public:
  using Handler = std::function<void(const boost::system::error_code& error, std::size_t size)>;

  virtual ~Stream() = default;
  // Before anything else; at once where there is no TLS.
  virtual void Handshake(Handler handler) = 0;
  virtual void Read(boost::asio::mutable_buffer buffer, Handler handler) = 0;
  // All of the buffers.
  virtual void Write(const std::vector<boost::asio::const_buffer>& buffers, Handler handler) = 0;
  // Says that nothing more will be sent.
  virtual void Finish(Handler handler) = 0;
  virtual Socket& socket() = 0;
};

// `tls` null: plain. It must outlive the stream.
std::unique_ptr<Stream> MakeStream(Socket socket, boost::asio::ssl::context* tls);

}  // namespace cobblestone::http
