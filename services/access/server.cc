#include "services/access/server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "common/base/thread.h"
#include "common/http/server.h"
#include "common/wire/events/event_codec.h"
#include "services/access/append_codec.h"
#include "services/access/question.h"

namespace cobblestone::access {

using embedded::Engine;

namespace {

constexpr std::size_t kConnections = 256;
constexpr std::size_t kThreads = 16;              // for questions, and the same number for changes
constexpr std::size_t kLongRuns = 8;              // at the same time
constexpr auto kSilence = std::chrono::hours(1);  // between two requests of a client
// Limit of one request once it has begun, for a client that stops in the middle.
constexpr auto kRequestPatience = std::chrono::seconds(60);
constexpr std::size_t kLargestBody = 256u << 20;
constexpr std::size_t kBodies = 8 * kLargestBody;  // all clients belong to the server's user

constexpr int kTooManyRequests = 429;
constexpr const char* kJson = "application/json";
constexpr const char* kJsonLines = "application/x-ndjson";

std::string Line(const nlohmann::json& value) {
  // Text of the input may contain any bytes; invalid UTF-8 is replaced.
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// Lines that one thread writes and another thread sends.
class Lines {
 public:
  void Put(std::string line, bool last) {
    {
      std::lock_guard lock(mutex_);
      // Progress that was not read yet is outdated.
      if (!waiting_.empty()) waiting_.pop_back();
      waiting_.push_back(std::move(line));
      ended_ = last;
    }
    ready_.notify_one();
  }
  // The next line; *last is set if it is the last one.
  std::string Take(bool* last) {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return !waiting_.empty(); });
    std::string line = std::move(waiting_.front());
    waiting_.pop_front();
    *last = ended_ && waiting_.empty();
    return line;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::string> waiting_;
  bool ended_ = false;
};

// Runs a long question on its own thread; another thread sends its lines.
class LongRun final : public http::Producer {
 public:
  LongRun(Engine& engine, Question question) {
    thread_ = std::thread([this, &engine, question = std::move(question)] {
      LowerThreadPriority();
      nlohmann::json last;
      try {
        auto answer = AnswerLong(engine, question, [&](std::uint64_t done, std::uint64_t all) {
          lines_.Put(Line({{"done", done}, {"all", all}}), false);
        });
        last = answer.ok() ? nlohmann::json{{"answer", *answer}} : ErrorJson(answer.status());
      } catch (const std::exception& e) {
        last = ErrorJson(Status::Fatal(question.path + " failed: " + e.what()));
      }
      lines_.Put(Line(last), true);
    });
  }
  // The thread cannot be stopped; the client may disconnect, but the thread is awaited.
  ~LongRun() override { thread_.join(); }

  bool Next(std::string* piece) override {
    if (sent_all_) return false;
    *piece = lines_.Take(&sent_all_);
    return true;
  }

 private:
  Lines lines_;
  bool sent_all_ = false;
  std::thread thread_;
};

}  // namespace

class Server::Impl final : public http::Service {
 public:
  Impl(Engine& engine, std::string path) : engine_(engine), path_(std::move(path)) {}

  Status Start() {
    if (SocketAnswers(path_)) {
      return Status::Fenced("another process listens at " + path_ +
                            "; set another socket (listen.socket in the configuration)");
    }
    if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return CannotBind(std::strerror(errno));
    auto server = http::Server::Start({.unix_path = path_,
                                       .connections = kConnections,
                                       .limits = {.head = kRequestPatience,
                                                  .body = kRequestPatience,
                                                  .answer = kRequestPatience,
                                                  .idle = kSilence},
                                       .bodies = kBodies,
                                       .question_threads = kThreads,
                                       .change_threads = kThreads,
                                       .change_threads_per_owner = kThreads,  // all are of one user
                                       .producer_threads = kLongRuns},
                                      *this);
    if (!server.ok()) return CannotBind(server.status().message());
    server_ = std::move(*server);
    struct stat file {};
    if (::stat(path_.c_str(), &file) == 0) inode_ = file.st_ino;
    return Status::Ok();
  }

  ~Impl() override {
    if (!server_) return;
    server_.reset();
    // A new server may already have bound the path.
    struct stat file {};
    if (::stat(path_.c_str(), &file) == 0 && file.st_ino == inode_) ::unlink(path_.c_str());
  }

  http::Plan OnRequest(const http::Head& head) override {
    http::Plan plan;
    plan.trusted = true;
    if (head.path == "/append" && head.method == "POST") {
      plan.pool = http::Pool::kChanges;
      plan.largest_body = kLargestBody;
      plan.answer = [this](const std::string& body) { return Append(body); };
      return plan;
    }
    for (const QuestionKind& kind : QuestionKinds()) {
      if (kind.path != head.path || head.method != (kind.changes ? "POST" : "GET")) continue;
      plan.pool = kind.changes ? http::Pool::kChanges : http::Pool::kQuestions;
      plan.answer = [this, question = QuestionOf(head)](const std::string&) {
        return Reply([&] { return Answer(engine_, question); });
      };
      return plan;
    }
    for (const std::string_view path : LongQuestions()) {
      if (path != head.path || head.method != "GET") continue;
      plan.answer = [this, question = QuestionOf(head)](const std::string&) {
        return http::Response{.type = kJsonLines, .producer = std::make_shared<LongRun>(engine_, question)};
      };
      return plan;
    }
    plan.refusal = ErrorResponse(Status::NotFound("unknown query " + head.path));
    return plan;
  }

  http::Response OnError(int status, const std::string& message) override {
    http::Response response = ErrorResponse(Status::InvalidArgument(message));
    response.status = status;
    return response;
  }

 private:
  Status CannotBind(const std::string& why) const {
    return Status::InvalidArgument("cannot listen at " + path_ + ": " + why +
                                   "; check that the directory exists and is writable, or set another socket "
                                   "(listen.socket in the configuration)");
  }

  static Question QuestionOf(const http::Head& head) {
    Question question{.path = head.path};
    for (const auto& [name, value] : head.query) question.parameters.emplace(name, value);
    return question;
  }

  static http::Response ErrorResponse(const Status& status) {
    return {.status = HttpStatusOf(status), .type = kJson, .body = Line(ErrorJson(status))};
  }

  template <class Ask>
  static http::Response Reply(Ask&& ask) {
    try {
      Result<nlohmann::json> answer = ask();
      if (answer.ok()) return {.type = kJson, .body = Line(*answer)};
      return ErrorResponse(answer.status());
    } catch (const std::exception& e) {
      return ErrorResponse(Status::Fatal(std::string("the query failed: ") + e.what()));
    }
  }

  http::Response Append(std::string_view body) {
    std::optional<intake::Excess> excess;
    http::Response response = Reply([&]() -> Result<nlohmann::json> {
      auto block = DecodeAppendBlock(body);
      if (!block.ok()) return block.status();
      excess = Charge(*block);
      if (excess) return nlohmann::json();
      auto outcome = engine_.Append(*block);
      if (!outcome.ok()) return outcome.status();
      return OutcomeJson(*outcome);
    });
    if (!excess) return response;
    nlohmann::json refusal = ErrorJson(Status::Retry(ExcessText(*excess)));
    refusal["retry_after"] = excess->wait;
    return {.status = kTooManyRequests,
            .type = kJson,
            .headers = {{"Retry-After", std::to_string(static_cast<long>(std::ceil(excess->wait)))}},
            .body = Line(refusal)};
  }

  // The excess of the block over the quotas of its projects, if there is any.
  std::optional<intake::Excess> Charge(const intake::AppendBlock& block) {
    intake::Charges charges;
    for (const intake::SourceLine& line : block.lines) {
      if (line.envelope.empty() && line.original.empty()) continue;  // blank
      const auto routing = wire::PeekRouting(line.envelope);
      charges.Add(routing ? routing->project : ProjectId(),
                  std::max(line.envelope.size(), line.original.size()));
    }
    return engine_.quotas().Take(charges);
  }

  Engine& engine_;
  const std::string path_;
  std::unique_ptr<http::Server> server_;
  ino_t inode_ = 0;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Start(Engine& engine, const std::string& path) {
  auto impl = std::make_unique<Impl>(engine, path);
  if (Status status = impl->Start(); !status.ok()) return status;
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

bool SocketAnswers(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  const bool answers =
      ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(descriptor);
  return answers;
}

}  // namespace cobblestone::access
