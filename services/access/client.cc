#include "services/access/client.h"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "common/http/client.h"
#include "services/access/append_codec.h"
#include "services/access/kafka_client.h"
#include "services/access/server.h"

namespace cobblestone::access {

using embedded::Engine;
using intake::AppendBlock;
using intake::AppendOutcome;
using intake::ProducerState;
using intake::SourceLine;

namespace {

// A block may wait for the stages to drain. A server that dies closes the connection at once; this limit is
// only for a server that hangs.
constexpr auto kConnectionPatience = std::chrono::seconds(3600);
constexpr std::chrono::milliseconds kLookAgainAfter{100};
constexpr int kTooManyRequests = 429;
constexpr double kShortestWait = 0.01;  // s

Result<nlohmann::json> ParseJson(const std::string& text) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded())
    return Status::Fatal("the running pipeline returned an answer that is not JSON: " + text);
  return json;
}

class SocketClient final : public Client {
 public:
  explicit SocketClient(std::string path)
      : path_(std::move(path)), http_(http::Client::OverUnixSocket(path_)) {}

  Result<nlohmann::json> Ask(const Question& question) override {
    const std::string url = UrlOf(question);
    for (const QuestionKind& kind : QuestionKinds()) {
      // A request that changes something is not sent twice.
      if (kind.path == question.path && kind.changes)
        return Read(http_.Send({.method = "POST", .target = url}, kConnectionPatience));
    }
    // The server closes an idle connection; the first request afterwards may fail and is repeated once.
    auto reply = http_.Send({.target = url}, kConnectionPatience);
    if (!reply.ok()) reply = http_.Send({.target = url}, kConnectionPatience);
    return Read(std::move(reply));
  }

  Result<AppendOutcome> Append(const AppendBlock& block) override {
    body_.clear();
    EncodeAppendBlock(block, &body_);
    for (;;) {
      double wait = 0;
      auto outcome = SendBody(block, &wait);
      if (wait <= 0) return outcome;
      if (!WaitForQuota(wait, outcome.status().message())) return outcome;
    }
  }

  // Sends body_, which is the block. *wait > 0: the block can be sent again after this time, s.
  Result<AppendOutcome> SendBody(const AppendBlock& block, double* wait) {
    const http::ClientRequest request{
        .method = "POST", .target = "/append", .body = body_, .content_type = "application/octet-stream"};
    auto reply = http_.Send(request, kConnectionPatience);
    if (!reply.ok()) {
      // The request was lost, or it was appended and its response was lost: the producer's line number
      // decides.
      auto producer = Producer(block.source);
      if (!producer.ok()) return producer.status();
      if (producer->lines == block.first_line + block.lines.size() && producer->hash == block.hash &&
          !block.lines.empty()) {
        return TakenIn(block, *producer);
      }
      reply = http_.Send(request, kConnectionPatience);
    }
    if (reply.ok() && reply->status == kTooManyRequests) {
      const auto refusal = ParseJson(reply->body);
      if (refusal.ok() && refusal->is_object())
        *wait = std::max(refusal->value("retry_after", 0.0), kShortestWait);
    }
    auto answer = Read(std::move(reply));
    if (!answer.ok()) return answer.status();
    return ParseOutcomeJson(*answer);
  }

  Status WaitIdle() override {
    for (;;) {
      auto answer = Ask({.path = "/idle"});
      if (!answer.ok()) return answer.status();
      if (answer->is_object() && answer->value("idle", false)) return Status::Ok();
    }
  }

  Result<nlohmann::json> AskLong(const Question& question,
                                 const std::function<void(std::uint64_t, std::uint64_t)>& progress) override {
    std::string waiting;
    nlohmann::json last;
    const auto reply =
        http_.Send({.target = UrlOf(question)}, kConnectionPatience, [&](std::string_view data) {
          waiting.append(data);
          for (std::size_t end = 0; (end = waiting.find('\n')) != std::string::npos;
               waiting.erase(0, end + 1)) {
            last = nlohmann::json::parse(waiting.substr(0, end), nullptr, false);
            if (last.is_object() && last.contains("done") && progress)
              progress(last.value("done", std::uint64_t{0}), last.value("all", std::uint64_t{0}));
          }
        });
    if (!reply.ok()) return Gone();
    if (last.is_object() && last.contains("answer")) return std::move(last["answer"]);
    return ParseErrorJson(last);
  }

  Status Close() override { return Status::Ok(); }
  [[nodiscard]] bool remote() const override { return true; }

 private:
  Status Gone() const {
    return Status::Retry("lost the connection to the pipeline at " + path_ +
                         "; start the pipeline and run the command again: no event is ingested twice");
  }

  Result<nlohmann::json> Read(Result<http::ClientReply> reply) const {
    if (!reply.ok()) return Gone();
    auto json = ParseJson(reply->body);
    if (json.ok() && reply->status != 200) return ParseErrorJson(*json);
    return json;
  }

  // The outcome that the lost response must have contained.
  static AppendOutcome TakenIn(const AppendBlock& block, const ProducerState& producer) {
    AppendOutcome outcome{.producer = producer};
    for (const SourceLine& line : block.lines) {
      if (!line.envelope.empty()) ++outcome.appended;
      if (line.envelope.empty() && !line.original.empty()) ++outcome.refused;
    }
    return outcome;
  }

  const std::string path_;
  http::Client http_;
  std::string body_;
};

class EngineClient final : public Client {
 public:
  EngineClient(Engine& engine, std::unique_ptr<Engine> owned, bool started)
      : engine_(engine), owned_(std::move(owned)), started_(started) {}

  Result<nlohmann::json> Ask(const Question& question) override { return Answer(engine_, question); }
  Result<AppendOutcome> Append(const AppendBlock& block) override { return engine_.Append(block); }
  Status WaitIdle() override {
    engine_.WaitIdle();
    return engine_.failure();
  }
  Result<nlohmann::json> AskLong(const Question& question,
                                 const std::function<void(std::uint64_t, std::uint64_t)>& progress) override {
    return AnswerLong(engine_, question, progress);
  }
  Status Close() override {
    if (!owned_ || !started_) return Status::Ok();
    started_ = false;
    const Status failure = owned_->failure();
    const Status stopped = owned_->Stop();
    return failure.ok() ? stopped : failure;
  }
  [[nodiscard]] bool remote() const override { return false; }

 private:
  Engine& engine_;
  std::unique_ptr<Engine> owned_;
  bool started_;
};

}  // namespace

bool Client::WaitForQuota(double seconds, const std::string& why) const {
  if (wait_) return wait_(seconds, why);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return true;
}

Result<ProducerState> Client::Producer(const std::string& source) {
  bool lockstep = false;
  return Producer(source, &lockstep);
}

Result<ProducerState> Client::Producer(const std::string& source, bool* lockstep) {
  auto answer = Ask({.path = "/producer", .parameters = {{"source", source}}});
  if (!answer.ok()) return answer.status();
  *lockstep = answer->is_object() && answer->value("order", "") == "lockstep";
  return ParseProducerJson(*answer);
}

Result<std::unique_ptr<Client>> Client::Open(const settings::RunSettings& settings, Purpose purpose,
                                             const std::function<void(const std::string&)>& report) {
  if (settings.backend == settings::Backend::kKafka) {
    auto client = ConnectKafka(settings, report);
    if (!client.ok()) return client.status();
    return std::unique_ptr<Client>(std::move(*client));
  }
  const auto deadline = std::chrono::steady_clock::now() + kHeldPatience;
  for (bool reported = false;; reported = true) {
    auto remote = ConnectClient(settings.listen.socket);
    if (remote.ok() || remote.status().code() != StatusCode::kNotFound) return remote;

    std::error_code ignored;  // a directory that cannot be accessed counts as absent
    if (purpose == Purpose::kAsk && !std::filesystem::exists(settings.data_directory + "/log", ignored)) {
      return Status::NotFound("no data directory " + settings.data_directory +
                              "; set --data or --config, or create one with `cobblestone ingest`");
    }
    auto engine = Engine::Open(settings, report);
    if (engine.ok()) {
      if (purpose == Purpose::kWork) (*engine)->Start();
      Engine& opened = **engine;
      return std::unique_ptr<Client>(new EngineClient(opened, std::move(*engine), purpose == Purpose::kWork));
    }
    if (engine.status().code() != StatusCode::kFenced) return engine.status();
    const std::string why = engine.status().message() + " (no answer at its socket " +
                            settings.listen.socket +
                            ": the process is starting, stopping, or uses another listen.socket";
    if (std::chrono::steady_clock::now() >= deadline) return Status::Fenced(why + "; try again later)");
    if (!reported && report) report(why + "; waiting)");
    std::this_thread::sleep_for(kLookAgainAfter);
  }
}

std::unique_ptr<Client> ClientOf(Engine& engine) {
  return std::make_unique<EngineClient>(engine, nullptr, false);
}

Result<std::unique_ptr<Client>> ConnectClient(const std::string& socket_path) {
  if (!SocketAnswers(socket_path)) return Status::NotFound("no pipeline listens at " + socket_path);
  return std::unique_ptr<Client>(new SocketClient(socket_path));
}

}  // namespace cobblestone::access
