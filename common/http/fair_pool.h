// A pool of threads of which one owner can have only a part at a time, so that the requests of one never keep out those of the
// others.
//
// Work of an owner who has his part waits, first in first out, and takes the place of what that owner finishes. Threads: any.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace cobblestone::http {

class FairPool {
 public:
  // `threads` in all, of which one owner has at most `threads_per_owner`.
  FairPool(std::size_t threads, std::size_t threads_per_owner);
  FairPool(const FairPool&) = delete;
  FairPool& operator=(const FairPool&) = delete;

  // `work` must not throw.
  void Run(const std::string& owner, std::function<void()> work);
  // Returns when all work has ended, what waits included. No Run() after it.
  void Join() { threads_.join(); }

 private:
  struct Owner {
    std::size_t under_way = 0;  // handed to threads_
    std::deque<std::function<void()>> waiting;
  };

  void Hand(const std::string& owner, std::function<void()> work);
  void Ended(const std::string& owner);

  const std::size_t threads_per_owner_;
  std::mutex mutex_;
  std::map<std::string, Owner> owners_;  // that have work; guarded by mutex_
  boost::asio::thread_pool threads_;
};

}  // namespace cobblestone::http
