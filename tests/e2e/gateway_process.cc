#include "tests/e2e/gateway_process.h"

#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

namespace cobblestone::testing {
namespace {

Reply ReplyOf(const httplib::Result& result) {
  if (!result) return {};
  return {.status = result->status, .body = result->body, .headers = result->headers};
}

httplib::Headers HeadersOf(const std::string& token, httplib::Headers headers) {
  if (!token.empty()) headers.emplace("Authorization", "Bearer " + token);
  return headers;
}

httplib::Client ClientOf(const std::string& url) {
  httplib::Client client(url);
  client.set_read_timeout(60);
  client.set_tcp_nodelay(true);
  return client;
}

}  // namespace

Served::Served(const TempDir& dir, const std::string& settings, const std::string& verb,
               const std::string& failpoint) {
  WriteTokens(dir / "tokens");
  std::ofstream(dir / "served.yaml")
      << "data_directory: data\npartitions: 3\nstate: {flush_interval: 50 ms}\n"
      << "gateway:\n  listen: 127.0.0.1:0\n  tokens_file: tokens\n"
      << "  rate_limit: 100000\n  rate_burst: 100000\n"
      << settings;
  process_ = std::make_unique<Background>(
      dir.path(), std::vector<std::string>{verb, "--config", "served.yaml"}, failpoint);
}

bool Served::Start() {
  const std::string field = "gateway=";
  if (!process_->WaitFor(field)) return false;
  const std::string output = process_->err();
  const std::size_t begin = output.rfind(field) + field.size();
  url_ = output.substr(begin, output.find_first_of(" \n", begin) - begin);
  return true;
}

Reply Served::Get(const std::string& path, const std::string& token, const httplib::Headers& more) {
  auto client = ClientOf(url_);
  return ReplyOf(client.Get(path, HeadersOf(token, more)));
}

Reply Served::Post(const std::string& path, const std::string& body, const std::string& token,
                   const std::string& type) {
  auto client = ClientOf(url_);
  return ReplyOf(client.Post(path, HeadersOf(token, {}), body, type));
}

Reply Served::GetUntil(const std::string& path, const std::function<bool(const Reply&)>& wanted,
                       const std::string& token) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  Reply reply = Get(path, token);
  while (!wanted(reply) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    reply = Get(path, token);
  }
  return reply;
}

void WriteTokens(const std::string& path) {
  std::ofstream(path) << "read " << kReadToken << "\ningest * all " << kIngestToken << "\noperate "
                      << kOperateToken << "\ningest 1 results,members,catalogue " << kOtherIngestToken
                      << "\nvolunteer 1/1 " << kVolunteerToken << "\nmetrics " << kMetricsToken << "\n";
  ::chmod(path.c_str(), 0600);
}

std::string EventLines(const TempDir& dir, int results, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"generate", "events.jsonl", "--results", std::to_string(results),
                                        "--hosts",  "20",           "--seed",    "5",
                                        "--policy", "runtime",      "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  if (RunProgram(dir.path(), arguments).code != 0) return {};
  std::ifstream file(dir / "events.jsonl");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace cobblestone::testing
