#include "services/metrics/scrape_server.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/descriptors.h"
#include "common/base/host_port.h"
#include "common/http/server.h"

namespace cobblestone::metrics {
namespace {

constexpr std::size_t kConnections = 64;
constexpr std::size_t kThreads = 4;
constexpr auto kPatience = std::chrono::seconds(10);

constexpr const char* kPrometheusText = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kPlainText = "text/plain; charset=utf-8";

}  // namespace

std::string HealthJson(const Health& health) {
  static constexpr const char* kWords[] = {"ok", "degraded", "failed"};
  const nlohmann::json json{{"status", kWords[static_cast<int>(health.state)]},
                            {"problems", health.problems}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

class ScrapeServer::Impl final : public http::Service {
 public:
  explicit Impl(ScrapeServerOptions options) : options_(std::move(options)) {}

  Status Start() {
    auto where = ParseHostPort(options_.listen);
    if (!where.ok())
      return Status::InvalidArgument("metrics.listen: \"" + options_.listen + "\" " +
                                     where.status().message());
    auto server = http::Server::Start({.host = where->host,
                                       .port = where->port,
                                       .connections = std::max<std::size_t>(DescriptorsFor(kConnections), 1),
                                       .connections_per_address = kConnections,
                                       .limits = {kPatience, kPatience, kPatience, kPatience},
                                       .question_threads = kThreads,
                                       .change_threads = 1,
                                       .change_threads_per_owner = 1,
                                       .producer_threads = 1},
                                      *this);
    if (!server.ok())
      return Status::InvalidArgument("cannot listen at " + options_.listen + ": " +
                                     server.status().message() +
                                     "; set another address in metrics.listen of the configuration");
    server_ = std::move(*server);
    where->port = server_->port();
    address_ = HostPortText(*where);
    return Status::Ok();
  }

  http::Plan OnRequest(const http::Head& head) override {
    const bool metrics = head.path == "/metrics";
    http::Plan plan;
    if (!metrics && head.path != "/health") {
      plan.refusal = Text(404, "not found; the paths are /metrics and /health\n");
    } else if (head.method != "GET" && head.method != "HEAD") {
      plan.refusal = Text(405, "method not allowed; use GET or HEAD\n");
      plan.refusal->headers.emplace_back("Allow", "GET, HEAD");
    } else {
      plan.answer = [this, metrics](std::string) { return metrics ? Metrics() : HealthNow(); };
    }
    return plan;
  }

  http::Response OnError(int status, const std::string& message) override {
    return Text(status, message + "\n");
  }

  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  static http::Response Text(int status, std::string text) {
    return {.status = status, .type = kPlainText, .body = std::move(text)};
  }
  http::Response Metrics() const { return {.type = kPrometheusText, .body = options_.render()}; }
  http::Response HealthNow() const {
    const Health health = options_.health();
    return {.status = HttpStatusOf(health), .type = "application/json", .body = HealthJson(health)};
  }

  const ScrapeServerOptions options_;
  std::string address_;
  std::unique_ptr<http::Server> server_;
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
