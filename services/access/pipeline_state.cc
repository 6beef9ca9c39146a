#include "services/access/pipeline_state.h"

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "services/embedded/engine_state.h"

namespace cobblestone::access {

using embedded::Engine;
using embedded::OpenCopiedState;
using kafka::KafkaView;
using ledger::KeepLedgerSums;
using ledger::LedgerPlaces;
using ledger::LedgerSums;
using pipeline::PipelineOptions;

namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(200);
constexpr auto kPatience = std::chrono::minutes(10);

constexpr std::string_view kCoordinatorRole = "coordinator";  // of KafkaView::ShownSlot

constexpr view::Stage kStages[] = {view::Stage::kClaims, view::Stage::kGrants, view::Stage::kAccounts,
                                   view::Stage::kTeams, view::Stage::kCoordinator};

std::uint32_t PartitionsOf(view::Stage stage, const view::State& state) {
  return stage == view::Stage::kCoordinator ? 1 : state.partitions();
}

// Ok if rows of all stages and partitions exist.
Status IsWhole(view::State& state) {
  for (const view::Stage stage : kStages) {
    for (std::uint32_t k = 0; k < PartitionsOf(stage, state); ++k)
      if (const auto rows = state.Of(stage, k); !rows.ok()) return rows.status();
  }
  return Status::Ok();
}

// True if the state on disk is of the last commit; after a crash it may be older.
Result<bool> IsAllWritten(Engine& engine) {
  for (const view::Stage stage : kStages) {
    for (std::uint32_t k = 0; k < PartitionsOf(stage, engine.live_state()); ++k) {
      std::uint64_t sequences[2] = {};
      for (const int i : {0, 1}) {
        const auto rows = (i == 0 ? engine.live_state() : engine.stored_state()).Of(stage, k);
        if (!rows.ok()) return rows.status();
        const auto meta = (*rows)->Meta();
        if (!meta.ok()) return meta.status();
        sequences[i] = meta->sequence;
      }
      if (sequences[0] != sequences[1]) return false;
    }
  }
  return true;
}

std::string Listed(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (const std::uint64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

}  // namespace

Status PipelineState::OpenOnKafka(const settings::RunSettings& settings,
                                  const std::function<void(const std::string&)>& report, Wanted wanted) {
  settings::RunSettings own = settings;
  own.data_directory += "/export";
  std::error_code error;
  std::filesystem::create_directories(own.data_directory, error);
  if (error)
    return Status::Unwritten(error.value(), "cannot create " + own.data_directory + ": " + error.message());
  auto view = KafkaView::Open(own, false, report);
  if (!view.ok()) return view.status();
  view_ = std::move(*view);
  sums_ = own.data_directory + "/view/ledger-sums";
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  Status arrived = Arrived(wanted);
  while (arrived.code() == StatusCode::kRetry && std::chrono::steady_clock::now() < deadline) {
    if (Status s = view_->failure(); !s.ok()) return s;
    std::this_thread::sleep_for(kLookEvery);
    arrived = Arrived(wanted);
  }
  state_ = &view_->state();
  return arrived;
}

// A slot has no checkpoint before its first commit, so without one there is nothing to wait for.
Status PipelineState::Arrived(Wanted wanted) {
  bool any_commit = false;
  bool current = true;
  for (const KafkaView::ShownSlot& slot : view_->Look()) {
    if (wanted == Wanted::kCoordinator && slot.role != kCoordinatorRole) continue;
    any_commit |= slot.committed != 0;  // unknown: the brokers have not answered
    current &= slot.committed && slot.shown >= *slot.committed;
  }
  if (!any_commit) return Status::NotFound("no worker of this deployment has committed anything yet");
  if (wanted == Wanted::kAll) return IsWhole(view_->state());
  if (current) return Status::Ok();
  return Status::Retry(
      "the coordinator's state is not available yet: it arrives with the next checkpoint of the workers "
      "(kafka.checkpoint_interval); try again later");
}

Result<std::unique_ptr<PipelineState>> PipelineState::Open(
    const settings::RunSettings& settings, const std::function<void(const std::string&)>& report) {
  return Open(settings, report, Wanted::kAll);
}

Result<std::unique_ptr<PipelineState>> PipelineState::OpenCoordinator(
    const settings::RunSettings& settings, const std::function<void(const std::string&)>& report) {
  return Open(settings, report, Wanted::kCoordinator);
}

Result<std::unique_ptr<PipelineState>> PipelineState::Open(
    const settings::RunSettings& settings, const std::function<void(const std::string&)>& report,
    Wanted wanted) {
  std::unique_ptr<PipelineState> made(new PipelineState);
  if (settings.backend == settings::Backend::kKafka) {
    if (Status s = made->OpenOnKafka(settings, report, wanted); !s.ok()) return s;
    return made;
  }
  std::error_code ignored;  // a directory that cannot be read counts as absent
  if (!std::filesystem::exists(settings.data_directory + "/log", ignored))
    return Status::NotFound("no data directory " + settings.data_directory +
                            "; set --data or --config, or --entities for a file");
  auto lock = stream::embedded::LockFile::Take(settings.data_directory + "/export.lock");
  if (!lock.ok()) return lock.status();
  made->lock_.emplace(std::move(*lock));
  auto engine = Engine::Open(settings, report);
  if (engine.ok()) {
    made->engine_ = std::move(*engine);
    made->client_ = ClientOf(*made->engine_);
    const auto written = IsAllWritten(*made->engine_);
    if (!written.ok()) return written.status();
    // Rows that are read through a slot stay in its memory, so the stored state is preferred.
    made->state_ = *written ? &made->engine_->stored_state() : &made->engine_->live_state();
    return made;
  }
  if (engine.status().code() != StatusCode::kFenced) return engine.status();
  auto client = Client::Open(settings, Purpose::kAsk, report);
  if (!client.ok()) return client.status();
  const auto copied = (*client)->Ask({.path = "/state/copy"});
  if (!copied.ok()) return copied.status();
  const PipelineOptions pipeline{.partitions = copied->at("partitions").get<std::uint32_t>()};
  auto state = OpenCopiedState(copied->at("directory").get<std::string>(), pipeline);
  if (!state.ok()) return state.status();
  made->copied_ = std::move(*state);
  made->state_ = made->copied_.get();
  made->client_ = std::move(*client);
  return made;
}

Result<LedgerSums> PipelineState::SumLedger(const LedgerPlaces& to, bool from_start,
                                            const LedgerSums::Progress& progress) {
  if (client_ == nullptr) {
    if (Status s = KeepLedgerSums(sums_, view_->logs(), to, from_start, progress); !s.ok()) return s;
    return LedgerSums::Load(sums_);
  }
  const auto answer = client_->AskLong({.path = "/ledger/sums",
                                        .parameters = {{"grants", Listed(to.grants)},
                                                       {"postings", Listed(to.postings)},
                                                       {"from_start", from_start ? "1" : "0"}}},
                                       progress);
  if (!answer.ok()) return answer.status();
  return LedgerSums::Load(answer->at("file").get<std::string>());
}

}  // namespace cobblestone::access
