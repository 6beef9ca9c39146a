#include "services/metrics/scrape_server.h"

#include <httplib.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "common/base/host_port.h"

namespace cobblestone::metrics {
namespace {

constexpr std::size_t kThreads = 4;
constexpr time_t kSilenceSeconds = 1;  // of a connection that is kept
constexpr time_t kPatienceSeconds = 10;
constexpr std::size_t kLargestBody = 4096;  // nobody has anything to send

constexpr const char* kPrometheusText = "text/plain; version=0.0.4; charset=utf-8";

// As it is: a set text would be compressed where the client accepts that (services/cobblestone/server.cc says why not).
void Say(std::string text, const char* type, httplib::Response& response) {
  const auto kept = std::make_shared<const std::string>(std::move(text));
  response.set_content_provider(kept->size(), type,
                                [kept](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                                  return sink.write(kept->data() + offset, length);
                                });
}

}  // namespace

std::string HealthJson(const Health& health) {
  static constexpr const char* kWords[] = {"ok", "degraded", "failed"};
  const nlohmann::json json{{"status", kWords[static_cast<int>(health.state)]},
                            {"problems", health.problems}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

class ScrapeServer::Impl {
 public:
  explicit Impl(ScrapeServerOptions options) : options_(std::move(options)) {}

  Status Start() {
    auto where = ParseHostPort(options_.listen);
    if (!where.ok())
      return Status::InvalidArgument("metrics.listen: \"" + options_.listen + "\" " +
                                     where.status().message());
    http_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    http_.set_keep_alive_timeout(kSilenceSeconds);
    http_.set_read_timeout(kPatienceSeconds);
    http_.set_write_timeout(kPatienceSeconds);
    http_.set_payload_max_length(kLargestBody);
    http_.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      Answer(response, [&] { Say(options_.render(), kPrometheusText, response); });
    });
    http_.Get("/health", [this](const httplib::Request&, httplib::Response& response) {
      Answer(response, [&] {
        const Health health = options_.health();
        response.status = HttpStatusOf(health);
        Say(HealthJson(health), "application/json", response);
      });
    });
    // Not shared: a second program that took the same port would answer for the first now and then.
    http_.set_socket_options([](socket_t descriptor) {
      const int yes = 1;
      ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    errno = 0;
    const bool bound = where->port == 0 ? (where->port = http_.bind_to_any_port(where->host)) > 0
                                        : http_.bind_to_port(where->host, where->port);
    if (!bound)
      return Status::InvalidArgument("cannot listen at " + options_.listen +
                                     (errno != 0 ? std::string(": ") + std::strerror(errno) : "") +
                                     "; metrics.listen in the configuration names another place");
    address_ = HostPortText(*where);
    thread_ = std::thread([this] { http_.listen_after_bind(); });
    // stop() before the loop runs would be lost.
    while (!http_.is_running()) std::this_thread::yield();
    return Status::Ok();
  }

  ~Impl() {
    if (!thread_.joinable()) return;
    http_.stop();
    thread_.join();
  }

  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  template <class Make>
  static void Answer(httplib::Response& response, Make&& make) {
    try {
      make();
    } catch (const std::exception& e) {
      response.status = 500;
      Say(std::string("cannot be told: ") + e.what() + "\n", "text/plain", response);
    }
  }

  ScrapeServerOptions options_;
  std::string address_;
  httplib::Server http_;
  std::thread thread_;
};

ScrapeServer::ScrapeServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ScrapeServer::~ScrapeServer() = default;
const std::string& ScrapeServer::address() const { return impl_->address(); }

Result<std::unique_ptr<ScrapeServer>> ScrapeServer::Start(ScrapeServerOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (Status s = impl->Start(); !s.ok()) return s;
  return std::unique_ptr<ScrapeServer>(new ScrapeServer(std::move(impl)));
}

}  // namespace cobblestone::metrics
