// Access of a command to the pipeline of a data directory: through the socket of the running program, or, if no
// program runs, by opening the directory. Both give the same answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/access/question.h"
#include "services/embedded/engine.h"

namespace cobblestone::access {

// How long Open() retries: a starting program locks its directory before it opens its socket, and a killed program
// may hold the lock while its disk writes finish.
inline constexpr std::chrono::seconds kHeldPatience{10};

enum class Purpose {
  kAsk,   // processes nothing; the directory must exist
  kWork,  // processes the backlog of the log; creates a missing directory
};

// Not thread-safe.
class Client {
 public:
  virtual ~Client() = default;

  // kNotFound (kAsk only): the directory does not exist. kFenced: another process has held the directory for some
  // seconds without answering at its socket. `report` receives the progress of a long opening.
  static Result<std::unique_ptr<Client>> Open(const settings::RunSettings& settings, Purpose purpose,
                                              const std::function<void(const std::string&)>& report);

  virtual Result<nlohmann::json> Ask(const Question& question) = 0;
  Result<intake::ProducerState> Producer(const std::string& source);
  // `lockstep`: whether the pipeline has `order: lockstep`, so that every source must be ingested in lockstep.
  Result<intake::ProducerState> Producer(const std::string& source, bool* lockstep);
  // Durable on return, and appended exactly once, even if the connection broke and was re-established. If a project is
  // beyond its quota, waits as the running program asks and sends the block again. kRetry: the running program has
  // ended, or the wait was interrupted; the same source may be sent again later.
  virtual Result<intake::AppendOutcome> Append(const intake::AppendBlock& block) = 0;
  // Waits for about `seconds`; false: interrupted. `why`: for people.
  using Wait = std::function<bool(double seconds, const std::string& why)>;
  // How Append() waits for a quota, instead of sleeping.
  void SetWait(Wait wait) { wait_ = std::move(wait); }
  // Returns once everything appended before is processed.
  virtual Status WaitIdle() = 0;
  // One of LongQuestions().
  virtual Result<nlohmann::json> AskLong(
      const Question& question,
      const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) = 0;
  // Ends what Open began; returns the status of the work. Call it once, at the end.
  virtual Status Close() = 0;
  // True if another program does the work, reached through its socket.
  [[nodiscard]] virtual bool remote() const = 0;

 protected:
  // As Wait.
  bool WaitForQuota(double seconds, const std::string& why) const;

 private:
  Wait wait_;
};

// Like Open(), with an existing engine, for one process that is both client and server (`demo`). The engine must
// outlive the client.
std::unique_ptr<Client> ClientOf(embedded::Engine& engine);
// Over the socket only. kNotFound: nobody listens there.
Result<std::unique_ptr<Client>> ConnectClient(const std::string& socket_path);

}  // namespace cobblestone::access
