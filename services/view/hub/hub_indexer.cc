#include "services/view/hub/hub_indexer.h"

#include <chrono>
#include <ctime>
#include <utility>

#include "common/base/thread.h"
#include "services/view/hub/hub_index_build.h"
#include "services/view/hub/index_schedule.h"

namespace cobblestone::view {

namespace {

constexpr double kLookEvery = 0.5;  // s

double SteadyNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// CPU seconds of the calling thread.
double ThreadCpu() {
  timespec used{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
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
  IndexSchedule schedule;
  do {
    auto rows = ReadHubRows(lists_.state(), lists_.now());
    if (!rows.ok()) {
      schedule.NotReadable(SteadyNow());
      Warn(rows.status());
      continue;
    }
    const double begun = SteadyNow();
    const double cpu = ThreadCpu();
    if (!schedule.Due(*rows, begun)) continue;
    auto built = BuildHubIndex(*rows, lists_.now(), lists_.index().get(), stopped);
    if (!built.ok()) {
      Warn(built.status());
      continue;
    }
    const double ended = SteadyNow();
    schedule.Built(*rows, ended, ThreadCpu() - cpu);
    warned_.clear();
    lists_.Publish(std::move(*built), ended - begun);
  } while (!Wait(kLookEvery));
}

}  // namespace cobblestone::view
