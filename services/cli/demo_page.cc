#include "services/cli/demo_page.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <vector>

#include "common/base/host_port.h"
#include "common/http/client.h"
#include "services/cli/child_process.h"
#include "services/traffic/generate.h"

namespace cobblestone::cli {

using traffic::GenerateOptions;
using traffic::Generator;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kLiveProject = 3;
constexpr const char* kUsualPlace = "127.0.0.1:8080";
constexpr const char* kAnyPlace = "127.0.0.1:0";
constexpr auto kLongestStart = std::chrono::seconds(60);
constexpr auto kLongestAnswer = std::chrono::seconds(60);
// A second of the demo is a quarter of an hour of the project, so that scales visibly change.
constexpr double kFasterThanTime = 900;
constexpr double kSecondsOfTraffic = 4 * 3600;
constexpr std::size_t kMaxLines = 20000;  // per batch

std::string RandomToken() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string token;
  for (int i = 0; i < 32; ++i) token += kDigits[random() & 15];
  return token;
}

// The address of the gateway from the program's log; empty if the program has ended.
std::string WaitForUrl(ChildProcess& run, const std::string& log) {
  const std::string field = " gateway=";
  const auto until = Clock::now() + kLongestStart;
  while (run.running() && Clock::now() < until) {
    std::ifstream file(log);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t at = text.find(field);
    const std::size_t end = at == std::string::npos ? at : text.find_first_of(" \n", at + field.size());
    if (end != std::string::npos) return text.substr(at + field.size(), end - at - field.size());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return {};
}

// A project's server: creates results and sends them in batches, each once.
class Traffic {
 public:
  Traffic(const HostPort& where, const std::string& token, double results_per_s)
      : http_(http::Client::OverTcp(where.host, where.port)),
        authorization_("Bearer " + token),
        results_per_s_(results_per_s),
        generator_(OptionsOf(results_per_s)),
        begin_(Clock::now()) {}

  // Sends the events that are due. After a response of 503 or no response, the next call sends them again.
  Status SendDue() {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    const auto due = static_cast<std::uint64_t>(seconds * results_per_s_);
    std::string envelope;
    for (; lines_ < kMaxLines && generator_.results_sent() <= due && generator_.Next(&envelope); ++lines_) {
      for (std::size_t size = envelope.size(); true; size >>= 7) {
        body_ += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
        if (size <= 0x7f) break;
      }
      body_ += envelope;
    }
    if (lines_ == 0) return Status::Ok();
    const auto reply = http_.Send({.method = "POST",
                                   .target = "/api/v1/events?source=live&first_line=" + std::to_string(sent_),
                                   .headers = {{"Authorization", authorization_}},
                                   .body = body_,
                                   .content_type = "application/x-protobuf"},
                                  kLongestAnswer);
    // Without a response the same batch is sent again: nothing is appended twice.
    if (!reply.ok() || reply->status == 503) return Status::Ok();
    if (reply->status != 200) return Status::Fatal("the pipeline rejected the traffic: " + reply->body);
    sent_ += lines_;
    lines_ = 0;
    body_.clear();
    return Status::Ok();
  }

 private:
  static GenerateOptions OptionsOf(double results_per_s) {
    const double span = kSecondsOfTraffic * kFasterThanTime;
    const double now =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    // The time range ends before now: no event is dated in the future.
    return {.seed = 3,
            .project = kLiveProject,
            .results = static_cast<std::uint64_t>(kSecondsOfTraffic * results_per_s),
            .hosts = 500,
            .apps = 3,
            .policies = {"creditnew", "creditnew-v2", "runtime"},
            .bad_lines = 0.0005,
            .start_time = std::floor(now - span),
            .span = span};
  }

  http::Client http_;
  const std::string authorization_;
  const double results_per_s_;
  Generator generator_;
  const Clock::time_point begin_;
  std::string body_;
  std::uint64_t lines_ = 0;  // in body_
  std::uint64_t sent_ = 0;
};

}  // namespace

bool SomebodyLooks() {
  return ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDIN_FILENO) == 1 && std::getenv("CI") == nullptr;
}

Status ShowPage(const settings::RunSettings& settings, double results_per_s, const StopSignals& signals) {
  const std::string token = RandomToken();
  ::setenv("COBBLESTONE_TOKENS", ("ingest * all demo:" + token).c_str(), 1);
  const std::string config = settings.data_directory + "/page.yaml";
  std::ofstream(config)
      << "data_directory: " << nlohmann::json(settings.data_directory).dump()
      << "\npartitions: " << settings.partitions
      << "\nprojects:\n  - {id: 1, name: \"History\"}\n  - {id: 2, name: \"Synthetic\"}\n  - {id: "
      << kLiveProject << ", name: \"Live\"}\n";
  const std::string log = settings.data_directory + "/page.log";
  for (const char* place : {kUsualPlace, kAnyPlace}) {
    auto run = ChildProcess::Start({"/proc/self/exe", "run", "--config", config, "--listen", place}, log);
    if (!run.ok()) return run.status();
    const std::string url = WaitForUrl(*run, log);
    if (url.empty()) {
      // Another program uses the default port.
      if (place == std::string(kUsualPlace)) continue;
      std::ifstream file(log);
      return Status::Fatal("the pipeline did not start; its output:\n" +
                           std::string(std::istreambuf_iterator<char>(file), {}));
    }
    std::printf(
        "\n  page         %s\n\n"
        "  Traffic of a third project flows through the pipeline, %.0f results/s. Ctrl-C stops "
        "the demo.\n",
        url.c_str(), results_per_s);
    std::fflush(stdout);
    const auto where = ParseHostPort(std::string_view(url).substr(url.find("//") + 2));
    if (!where.ok()) return where.status();
    Traffic traffic(*where, token, results_per_s);
    Status status;
    while (status.ok() && run->running() && signals.Wait() == 0) status = traffic.SendDue();
    signals.LetKill();
    run->Signal(SIGTERM);
    const int code = run->Wait();
    if (status.ok() && code != 0)
      status = Status::Fatal("the pipeline did not stop cleanly (exit code " + std::to_string(code) +
                             "); its log is " + log);
    return status;
  }
  return Status::Ok();
}

}  // namespace cobblestone::cli
