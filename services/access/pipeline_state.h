// The committed state of a pipeline on any backend, for a long read by another process: an export.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/settings/run_settings.h"
#include "common/stream/embedded/lock_file.h"
#include "services/access/client.h"
#include "services/embedded/engine.h"
#include "services/kafka/kafka_view.h"
#include "services/ledger/ledger_sums.h"
#include "services/view/state.h"

namespace cobblestone::access {

class PipelineState {
 public:
  // If a program runs on the directory, it copies its states by hard links, without other delay. A directory
  // without a running program is opened. On Kafka, the export's own view follows the topics until it has all
  // slots. kFenced: another export uses the directory. kNotFound: the directory does not exist, or no worker on
  // Kafka has committed anything.
  static Result<std::unique_ptr<PipelineState>> Open(const settings::RunSettings& settings,
                                                     const std::function<void(const std::string&)>& report);
  // As above, for readers of the coordinator's rows, which are as of its last commit. On Kafka, other slots may be
  // missing, and kNotFound means that the coordinator has committed nothing.
  static Result<std::unique_ptr<PipelineState>> OpenCoordinator(
      const settings::RunSettings& settings, const std::function<void(const std::string&)>& report);

  [[nodiscard]] view::State& state() { return *state_; }
  // Ledger sums up to `to`, which the state has read. Continues from the sums of the last export, unless
  // `from_start`. A running program does the reading itself.
  Result<ledger::LedgerSums> SumLedger(const ledger::LedgerPlaces& to, bool from_start,
                                       const ledger::LedgerSums::Progress& progress);

 private:
  PipelineState() = default;

  enum class Wanted { kAll, kCoordinator };
  static Result<std::unique_ptr<PipelineState>> Open(const settings::RunSettings& settings,
                                                     const std::function<void(const std::string&)>& report,
                                                     Wanted wanted);
  Status OpenOnKafka(const settings::RunSettings& settings,
                     const std::function<void(const std::string&)>& report, Wanted wanted);
  [[nodiscard]] Status Arrived(Wanted wanted);

  // In order of dependency: each member needs those above it.
  std::optional<stream::embedded::LockFile> lock_;
  std::unique_ptr<embedded::Engine> engine_;
  std::unique_ptr<Client> client_;  // client of the program that has the directory; null on Kafka
  std::unique_ptr<kafka::KafkaView> view_;
  std::string sums_;  // on Kafka: path of the file with the ledger's sums
  std::unique_ptr<view::State> copied_;
  view::State* state_ = nullptr;
};

}  // namespace cobblestone::access
