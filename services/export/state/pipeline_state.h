// The committed state of a pipeline, wherever it runs, for a long look from a process of its own: an export.
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

namespace cobblestone {

class PipelineState {
 public:
  // A program that runs on the directory copies its states by hard links, and is not held up otherwise; a directory on which
  // nothing runs is opened; on Kafka a view of its own follows until it has all slots. One at a time for a directory:
  // kFenced. kNotFound: there is no such directory.
  static Result<std::unique_ptr<PipelineState>> Open(const settings::RunSettings& settings,
                                                     const std::function<void(const std::string&)>& report);

  [[nodiscard]] view::State& state() { return *state_; }
  // What the ledger comes to up to these places, which the state has read. What was read for the last export is gone on from,
  // unless `anew`. The program that runs does the reading.
  Result<LedgerSums> SumLedger(const LedgerPlaces& to, bool anew, const LedgerSums::Progress& progress);

 private:
  PipelineState() = default;

  Status OpenOnKafka(const settings::RunSettings& settings,
                     const std::function<void(const std::string&)>& report);

  // What holds what, from the first to the last.
  std::optional<stream::embedded::LockFile> lock_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Client> client_;  // of who has the directory; none: on Kafka
  std::unique_ptr<KafkaView> view_;
  std::string sums_;  // on Kafka: the file of the ledger's sums
  std::unique_ptr<view::State> copied_;
  view::State* state_ = nullptr;
};

}  // namespace cobblestone
