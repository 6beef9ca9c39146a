#include "common/http/fair_pool.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace cobblestone::http {

FairPool::FairPool(std::size_t threads, std::size_t threads_per_owner)
    : threads_per_owner_(threads_per_owner), threads_(threads) {}

void FairPool::Run(const std::string& owner, std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  Owner& mine = owners_[owner];
  if (mine.under_way >= threads_per_owner_) {
    mine.waiting.push_back(std::move(work));
    return;
  }
  ++mine.under_way;
  Hand(owner, std::move(work));
}

void FairPool::Hand(const std::string& owner, std::function<void()> work) {
  boost::asio::post(threads_, [this, owner, work = std::move(work)] {
    work();
    Ended(owner);
  });
}

void FairPool::Ended(const std::string& owner) {
  const std::lock_guard lock(mutex_);
  const auto mine = owners_.find(owner);
  if (mine->second.waiting.empty()) {
    if (--mine->second.under_way == 0) owners_.erase(mine);
    return;
  }
  // Queued after the work that other owners have handed over meanwhile.
  std::function<void()> next = std::move(mine->second.waiting.front());
  mine->second.waiting.pop_front();
  Hand(owner, std::move(next));
}

}  // namespace cobblestone::http
