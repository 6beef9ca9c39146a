#include "services/lab/parallel.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace cobblestone::lab {

Status RunInParallel(std::size_t count, unsigned threads, const std::function<Status(std::size_t)>& run) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  std::mutex mutex;
  std::size_t next = 0;
  std::size_t failed = count;
  Status status;
  const auto work = [&] {
    std::unique_lock lock(mutex);
    while (next < count && failed == count) {
      const std::size_t index = next++;
      lock.unlock();
      Status ended = run(index);
      lock.lock();
      if (ended.ok() || index > failed) continue;
      failed = index;
      status = std::move(ended);
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i) others.emplace_back(work);
  work();
  others.clear();  // joins
  return status;
}

}  // namespace cobblestone::lab
