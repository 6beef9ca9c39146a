// The pipeline of a data directory as a command reaches it: through the socket of the program that runs on
// it, or, when none runs, by opening the directory itself. Both give the same answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "services/access/question.h"
#include "services/embedded/engine.h"

namespace cobblestone {

// A program that starts has its directory before its socket, and one that was killed may keep it while the disk is at work.
inline constexpr std::chrono::seconds kHeldPatience{10};

enum class Purpose {
  kAsk,   // nothing is processed; the directory must exist
  kWork,  // what waits in the log is processed; the directory is made when missing
};

// Not for several threads at once.
class Client {
 public:
  virtual ~Client() = default;

  // kNotFound (kAsk only): no such directory. kFenced: another process has held it for some seconds and not answered at its
  // socket. `report` gets what a long opening does.
  static Result<std::unique_ptr<Client>> Open(const settings::RunSettings& settings, Purpose purpose,
                                              const std::function<void(const std::string&)>& report);

  virtual Result<nlohmann::json> Ask(const Question& question) = 0;
  Result<ProducerState> Producer(const std::string& source);
  // And whether all sources are to be taken in in lockstep (`order: lockstep`).
  Result<ProducerState> Producer(const std::string& source, bool* lockstep);
  // Durable on return, and appended exactly once, also when the connection broke and was made again
  // meanwhile. kRetry: the running program has gone away; the same source may be sent again later.
  virtual Result<AppendOutcome> Append(const AppendBlock& block) = 0;
  // All that was appended before is processed.
  virtual Status WaitIdle() = 0;
  // One of LongQuestions().
  virtual Result<nlohmann::json> AskLong(
      const Question& question,
      const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) = 0;
  // Ends what Open began; its status is that of the work. To be called once at the end.
  virtual Status Close() = 0;
  // Through a socket: somebody else's program does the work.
  [[nodiscard]] virtual bool remote() const = 0;
};

// As Open() with an engine that is there already, for one process that plays both sides (`demo`). The
// engine outlives it.
std::unique_ptr<Client> ClientOf(Engine& engine);
// Over the socket alone. kNotFound when nobody listens there.
Result<std::unique_ptr<Client>> ConnectClient(const std::string& socket_path);

}  // namespace cobblestone
