#include "services/cobblestone/server.h"

#include <httplib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "common/base/thread.h"
#include "services/cobblestone/append_codec.h"
#include "services/cobblestone/question.h"

namespace cobblestone {
namespace {

// A client holds a thread for as long as it is connected; beyond so many, others wait.
constexpr std::size_t kThreads = 32;
// Bounds how long a silent connection holds up a clean stop. A client that comes back later reconnects.
constexpr time_t kSilenceSeconds = 1;
// Of one request, once it has begun: a client that is stopped in the middle.
constexpr time_t kPatienceSeconds = 60;
constexpr std::size_t kLargestBody = 256u << 20;
constexpr std::size_t kRequestsPerConnection = 1u << 30;

constexpr const char* kJson = "application/json";
constexpr const char* kJsonLines = "application/x-ndjson";

std::string Line(const nlohmann::json& json) {
  // Text of the input may hold any bytes; what is no UTF-8 is shown as such.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// As it is, whatever the client accepts: a text is compressed where it accepts that, and there a reader on this machine has
// nothing of it, and the library of Debian 13 (0.18, Brotli) may never come back. What has a provider of known length is not.
void Say(const nlohmann::json& json, httplib::Response& response) {
  const auto text = std::make_shared<const std::string>(Line(json));
  response.set_content_provider(text->size(), kJson,
                                [text](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                                  return sink.write(text->data() + offset, length);
                                });
}

// What one thread has to say while another one sends it.
class Lines {
 public:
  void Put(std::string line, bool last) {
    {
      std::lock_guard lock(mutex_);
      // Progress that nobody has read yet is out of date.
      if (!waiting_.empty()) waiting_.pop_back();
      waiting_.push_back(std::move(line));
      ended_ = last;
    }
    ready_.notify_one();
  }
  // The next line; *last when it is the last one.
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

// A long question on a thread of its own; the connection's thread sends what it says.
struct LongRun {
  Lines lines;
  std::thread thread;

  LongRun(Engine& engine, Question question) {
    thread = std::thread([this, &engine, question = std::move(question)] {
      LowerThreadPriority();
      nlohmann::json last;
      try {
        auto answer = AnswerLong(engine, question, [&](std::uint64_t done, std::uint64_t all) {
          lines.Put(Line({{"done", done}, {"all", all}}), false);
        });
        last = answer.ok() ? nlohmann::json{{"answer", *answer}} : ErrorJson(answer.status());
      } catch (const std::exception& e) {
        last = ErrorJson(Status::Fatal(question.path + " could not go on: " + e.what()));
      }
      lines.Put(Line(last), true);
    });
  }
  // It cannot be told to stop; a client that goes away waits for nothing, this thread does.
  ~LongRun() { thread.join(); }
};

}  // namespace

class Server::Impl {
 public:
  Impl(Engine& engine, std::string path) : engine_(engine), path_(std::move(path)) {}

  Status Start() {
    http_.set_address_family(AF_UNIX);
    // Before bind(): Linux gives the file the mode of the descriptor.
    http_.set_socket_options([](socket_t descriptor) { ::fchmod(descriptor, 0600); });
    http_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    http_.set_keep_alive_timeout(kSilenceSeconds);
    http_.set_keep_alive_max_count(kRequestsPerConnection);
    http_.set_read_timeout(kPatienceSeconds);
    http_.set_write_timeout(kPatienceSeconds);
    http_.set_payload_max_length(kLargestBody);
    for (const QuestionKind& kind : QuestionKinds()) {
      const auto handler = [this](const httplib::Request& request, httplib::Response& response) {
        Reply(response, [&] { return Answer(engine_, QuestionOf(request)); });
      };
      if (kind.changes) {
        http_.Post(std::string(kind.path), handler);
      } else {
        http_.Get(std::string(kind.path), handler);
      }
    }
    http_.Post("/append", [this](const httplib::Request& request, httplib::Response& response) {
      Reply(response, [&] { return Append(request.body); });
    });
    http_.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
      if (response.content_provider_) return;
      const bool unknown = response.status == HttpStatusOf(Status::NotFound(""));
      const Status status = unknown
                                ? Status::NotFound("there is no question " + request.path)
                                : Status::InvalidArgument("HTTP status " + std::to_string(response.status));
      Say(ErrorJson(status), response);
    });
    for (const std::string_view path : LongQuestions())
      http_.Get(std::string(path), [this](const httplib::Request& request, httplib::Response& response) {
        ReplyLong(QuestionOf(request), response);
      });

    if (SocketAnswers(path_)) {
      return Status::Fenced("another program listens at " + path_ +
                            "; give this one another place (listen.socket in its configuration)");
    }
    if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return CannotBind();
    if (!http_.bind_to_port(path_, 80)) return CannotBind();
    struct stat file {};
    if (::stat(path_.c_str(), &file) == 0) inode_ = file.st_ino;
    thread_ = std::thread([this] { http_.listen_after_bind(); });
    // stop() before the loop runs would be lost.
    while (!http_.is_running()) std::this_thread::yield();
    return Status::Ok();
  }

  ~Impl() {
    if (!thread_.joinable()) return;
    http_.stop();
    thread_.join();
    // A successor may have bound the path already.
    struct stat file {};
    if (::stat(path_.c_str(), &file) == 0 && file.st_ino == inode_) ::unlink(path_.c_str());
  }

 private:
  Status CannotBind() const {
    return Status::InvalidArgument("cannot listen at " + path_ + ": " + std::strerror(errno) +
                                   "; is there such a folder, and may you write there? listen.socket in the "
                                   "configuration names another place");
  }

  static Question QuestionOf(const httplib::Request& request) {
    Question question{.path = request.path};
    for (const auto& [name, value] : request.params) question.parameters.emplace(name, value);
    return question;
  }

  template <class Ask>
  static void Reply(httplib::Response& response, Ask&& ask) {
    Status status;
    try {
      Result<nlohmann::json> answer = ask();
      if (answer.ok()) {
        Say(*answer, response);
        return;
      }
      status = answer.status();
    } catch (const std::exception& e) {
      status = Status::Fatal(std::string("the question could not be answered: ") + e.what());
    }
    response.status = HttpStatusOf(status);
    Say(ErrorJson(status), response);
  }

  Result<nlohmann::json> Append(std::string_view body) {
    auto block = DecodeAppendBlock(body);
    if (!block.ok()) return block.status();
    auto outcome = engine_.Append(*block);
    if (!outcome.ok()) return outcome.status();
    return OutcomeJson(*outcome);
  }

  void ReplyLong(Question question, httplib::Response& response) {
    auto run = std::make_shared<LongRun>(engine_, std::move(question));
    response.set_chunked_content_provider(kJsonLines, [run](std::size_t, httplib::DataSink& sink) {
      bool last = false;
      const std::string line = run->lines.Take(&last);
      const bool sent = sink.write(line.data(), line.size());
      if (last) sink.done();
      return sent;
    });
  }

  Engine& engine_;
  const std::string path_;
  httplib::Server http_;
  std::thread thread_;
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

}  // namespace cobblestone
