// The byte stream of a connection: TCP or Unix socket, with or without TLS. Internal to this folder.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <vector>

namespace cobblestone::http {

using Socket = boost::asio::generic::stream_protocol::socket;

// Owner and thread: the connection's. Handlers run on the socket's io_context, never within the call.
class Stream {
 public:
  using Handler = std::function<void(const boost::system::error_code& error, std::size_t size)>;

  virtual ~Stream() = default;
  // Call first; completes at once without TLS.
  virtual void Handshake(Handler handler) = 0;
  virtual void Read(boost::asio::mutable_buffer buffer, Handler handler) = 0;
  // Writes all of the buffers.
  virtual void Write(const std::vector<boost::asio::const_buffer>& buffers, Handler handler) = 0;
  // Signals that nothing more will be sent.
  virtual void Finish(Handler handler) = 0;
  virtual Socket& socket() = 0;
};

// `tls` null: without TLS. `tls` must outlive the stream.
std::unique_ptr<Stream> MakeStream(Socket socket, boost::asio::ssl::context* tls);

}  // namespace cobblestone::http
