#include "services/view/hub/hub_indexer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/base/thread.h"
#include "services/view/hub/hub_index_build.h"

namespace cobblestone::view {

namespace {

constexpr double kLookEvery = 0.5;      // s
constexpr double kLeastPause = 1;       // s between two builds
constexpr double kPauseForEdition = 4;  // times the duration of a build
constexpr double kPauseForEvents = 19;

double SteadyNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

HubIndexer::HubIndexer(HubLists& lists, std::function<void(const std::string&)> warn)
    : lists_(lists), warn_(std::move(warn)), thread_([this] { Run(); }) {}

HubIndexer::~HubIndexer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  lists_.Publish(nullptr, 0);  // the rows of an index must not outlive the state
}

bool HubIndexer::Wait(double seconds) {
  std::unique_lock lock(mutex_);
  return wake_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return stopping_; });
}

void HubIndexer::Warn(const Status& status) {
  if (status.code() == StatusCode::kRetry || status.message() == warned_) return;
  warned_ = status.message();
  if (warn_) warn_("the index of accounts cannot be built, and answers stay as they were: " + warned_);
}

void HubIndexer::Run() {
  NameThread("hub-index");
  LowerThreadPriority();
  const std::function<bool()> stopped = [this] {
    const std::lock_guard lock(mutex_);
    return stopping_;
  };
  std::string editions;
  std::vector<std::uint64_t> positions;
  double ended = 0;
  double took = 0;
  do {
    auto rows = ReadHubRows(lists_.state());
    if (!rows.ok()) {
      Warn(rows.status());
      continue;
    }
    const auto before = lists_.index();
    if (before != nullptr) {
      if (rows->editions == editions && rows->positions == positions) continue;
      const double pause = took * (rows->editions == editions ? kPauseForEvents : kPauseForEdition);
      if (SteadyNow() - ended < std::max(pause, kLeastPause)) continue;
    }
    const double begun = SteadyNow();
    auto built = BuildHubIndex(*rows, lists_.now(), before.get(), stopped);
    ended = SteadyNow();
    if (!built.ok()) {
      Warn(built.status());
      continue;
    }
    took = ended - begun;
    editions = std::move(rows->editions);
    positions = std::move(rows->positions);
    warned_.clear();
    lists_.Publish(std::move(*built), took);
  } while (!Wait(kLookEvery));
}

}  // namespace cobblestone::view
