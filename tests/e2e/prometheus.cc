#include "tests/e2e/prometheus.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>
#include <thread>

#include "common/base/host_port.h"

namespace cobblestone::testing {
namespace {

using nlohmann::json;

constexpr const char* kMonitoring = COBBLESTONE_SOURCE_DIR "/deploy/monitoring/";
constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::milliseconds kLookEvery{100};

std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Replace(std::string* text, const std::string& what, const std::string& by) {
  bool found = false;
  for (std::size_t at = 0; (at = text->find(what, at)) != std::string::npos; at += by.size()) {
    text->replace(at, what.size(), by);
    found = true;
  }
  if (!found) throw std::runtime_error("there is no " + what + " in prometheus.yml");
}

// A port that was free a moment ago.
int FreePort() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  if (::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no free port");
  ::close(descriptor);
  return ntohs(address.sin_port);
}

void EachExpression(const json& panel, std::vector<std::string>* all) {
  const json targets = panel.value("targets", json::array());
  for (const json& target : targets) all->push_back(target.at("expr"));
  const json inner = panel.value("panels", json::array());
  for (const json& one : inner) EachExpression(one, all);
}

}  // namespace

Prometheus::Prometheus(const std::string& directory, const std::vector<std::string>& targets)
    : targets_(targets.size()), port_(FreePort()) {
  std::string config = ContentOf(std::string(kMonitoring) + "prometheus.yml");
  std::string list;
  for (const std::string& target : targets) list += (list.empty() ? "\"" : ", \"") + target + "\"";
  Replace(&config, "\"127.0.0.1:9464\"", list);
  Replace(&config, "_interval: 15s", "_interval: 300ms");
  Replace(&config, "scrape_timeout: 10s", "scrape_timeout: 300ms");
  Replace(&config, "- alerts.yml", "- " + std::string(kMonitoring) + "alerts.yml");
  std::ofstream(directory + "/prometheus.yml") << config;
  UseProgram(COBBLESTONE_PROMETHEUS);
  process_ = std::make_unique<Background>(
      directory, std::vector<std::string>{"--config.file=prometheus.yml", "--storage.tsdb.path=prometheus",
                                          "--web.listen-address=127.0.0.1:" + std::to_string(port_),
                                          "--log.level=error"});
  UseProgram(nullptr);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const auto ready = [this] {
    const auto answer = httplib::Client("127.0.0.1", port_).Get("/-/ready");
    return answer && answer->status == 200;
  };
  while (!ready()) {
    if (!process_->Runs() || std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error("Prometheus does not start: " + process_->err());
    std::this_thread::sleep_for(kLookEvery);
  }
}

json Prometheus::Ask(const std::string& path) const {
  httplib::Client client("127.0.0.1", port_);
  const auto answer = client.Get(path);
  if (!answer) return {};
  const json body = json::parse(answer->body, nullptr, false);
  if (body.is_discarded() || body.value("status", "") != "success") {
    ADD_FAILURE() << path << ": " << answer->body;
    return {};
  }
  return body.at("data");
}

json Prometheus::Query(const std::string& expression) const {
  const json data = Ask("/api/v1/query?query=" + httplib::detail::encode_query_param(expression));
  return data.is_object() ? data.at("result") : json();
}

double Prometheus::Value(const std::string& expression) const {
  const json result = Query(expression);
  if (result.size() != 1) return std::nan("");
  return std::stod(result[0].at("value").at(1).get<std::string>());
}

bool Prometheus::Await(const std::string& expression) const {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (!Query(expression).empty()) return true;
    std::this_thread::sleep_for(kLookEvery);
  }
  return false;
}

bool Prometheus::AwaitScrape() const {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return Await("count(up == 1 and timestamp(up) > " + std::to_string(now) +
               ") == " + std::to_string(targets_));
}

std::set<std::string> Prometheus::Names() const {
  return Ask("/api/v1/label/__name__/values").get<std::set<std::string>>();
}

std::set<std::string> Prometheus::Alerts() const {
  std::set<std::string> names;
  const json rules = Ask("/api/v1/rules");
  for (const json& group : rules.at("groups"))
    for (const json& rule : group.at("rules")) names.insert(rule.at("name").get<std::string>());
  return names;
}

std::vector<std::string> DashboardExpressions() {
  std::vector<std::string> all;
  const json dashboard = json::parse(ContentOf(std::string(kMonitoring) + "dashboard.json"));
  for (const json& panel : dashboard.at("panels")) EachExpression(panel, &all);
  for (const json& annotation : dashboard.at("annotations").at("list")) all.push_back(annotation.at("expr"));
  for (std::string& expression : all) {
    static const std::pair<std::regex, const char*> kVariables[] = {
        {std::regex(R"(\$__rate_interval)"), "1m"},
        {std::regex(R"(\$job)"), "cobblestone"},
        {std::regex(R"(\$(instance|project))"), ".*"}};
    for (const auto& [variable, value] : kVariables)
      expression = std::regex_replace(expression, variable, value);
  }
  return all;
}

std::set<std::string> NamedMetrics() {
  static const std::regex kName(R"(\b(cobblestone|process)_[a-z0-9_]+)");
  static const std::regex kOfHistogram("_(bucket|sum|count)$");
  std::set<std::string> names;
  const auto take = [&](const std::string& text) {
    for (std::sregex_iterator at(text.begin(), text.end(), kName), end; at != end; ++at)
      names.insert(std::regex_replace(at->str(), kOfHistogram, ""));
  };
  take(ContentOf(std::string(kMonitoring) + "alerts.yml"));
  for (const std::string& expression : DashboardExpressions()) take(expression);
  const json dashboard = json::parse(ContentOf(std::string(kMonitoring) + "dashboard.json"));
  for (const json& variable : dashboard.at("templating").at("list")) take(variable.value("definition", ""));
  return names;
}

std::string PromtoolComplaints(const std::string& directory, const std::string& text) {
  UseProgram(COBBLESTONE_PROMTOOL);
  const Finished result = RunProgram(directory, {"check", "metrics"}, text);
  UseProgram(nullptr);
  return result.out + result.err + (result.code == 0 ? "" : "exit code " + std::to_string(result.code));
}

std::string Fetch(const std::string& address, const std::string& path, int status) {
  const auto where = ParseHostPort(address);
  EXPECT_TRUE(where.ok()) << address;
  if (!where.ok()) return {};
  const auto answer = httplib::Client(where->host, where->port).Get(path);
  EXPECT_TRUE(answer) << address << path;
  if (!answer) return {};
  EXPECT_EQ(answer->status, status) << answer->body;
  return answer->body;
}

std::string MetricsAddressIn(const std::string& log) {
  static const std::regex kText("serving metrics address=(\\S+)");
  static const std::regex kJson("\"serving metrics\",\"address\":\"([^\"]+)\"");
  std::smatch found;
  if (std::regex_search(log, found, kText) || std::regex_search(log, found, kJson)) return found[1];
  ADD_FAILURE() << "no address in " << log;
  return "127.0.0.1:1";
}

}  // namespace cobblestone::testing
