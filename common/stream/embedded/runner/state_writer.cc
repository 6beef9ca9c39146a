#include "common/stream/embedded/runner/state_writer.h"

#include <utility>

#include "common/base/failpoint.h"
#include "common/base/thread.h"

namespace cobblestone::stream::embedded {

StateWriter::StateWriter(const RunnerOptions& options, Log& log, LogTrimmer& trimmer,
                         std::function<void(Status)> failed, std::function<void()> done)
    : options_(options), log_(log), trimmer_(trimmer), failed_(std::move(failed)), done_(std::move(done)) {}

StateWriter::~StateWriter() { Stop(); }

void StateWriter::Start() {
  thread_ = std::thread([this] {
    NameThread("state-write");
    LowerThreadPriority();
    Work();
  });
}

void StateWriter::Stop() {
  {
    const std::lock_guard lock(mutex_);
    queue_.stopping = true;
  }
  submitted_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StateWriter::Submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    queue_.jobs.push_back(std::move(job));
  }
  submitted_.notify_one();
}

bool StateWriter::WaitApplied(const StoredState& state) {
  std::unique_lock lock(mutex_);
  job_done_.wait(lock, [&] { return queue_.failed || state.applied(); });
  return !queue_.failed;
}

void StateWriter::WaitDone() {
  std::unique_lock lock(mutex_);
  job_done_.wait(lock, [&] { return queue_.failed || (queue_.jobs.empty() && !queue_.running); });
}

void StateWriter::Work() {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      // Trims the log even while no state is written, so that old inputs of an idle pipeline are deleted.
      if (!submitted_.wait_for(lock, options_.trim_interval,
                               [&] { return queue_.stopping || !queue_.jobs.empty(); })) {
        lock.unlock();
        trimmer_.Trim();
        continue;
      }
      if (queue_.jobs.empty()) return;
      job = std::move(queue_.jobs.front());
      queue_.jobs.erase(queue_.jobs.begin());
      queue_.running = true;
    }
    Status s = Run(job);
    const bool failed = !s.ok();
    if (failed) failed_(std::move(s));
    {
      const std::lock_guard lock(mutex_);
      queue_.running = false;
      queue_.failed = queue_.failed || failed;
    }
    job_done_.notify_all();
    done_();
  }
}

Status StateWriter::Run(const Job& job) {
  log_.WaitDurable(job.ticket);
  if (Status s = job.state->Apply(*job.write); !s.ok()) return s;
  Failpoint("E5");
  bool checkpoint = false;
  if (Status s = job.state->CheckpointIfDue(job.write->meta, &checkpoint); !s.ok()) return s;
  if (checkpoint) trimmer_.Trim();
  job.state->SetApplied();
  return Status::Ok();
}

}  // namespace cobblestone::stream::embedded
