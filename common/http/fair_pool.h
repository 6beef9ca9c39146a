// A thread pool in which one owner can use only some of the threads, so that one owner's requests never block
// those of others.
//
// Work beyond an owner's share waits, first in first out, until other work of that owner ends. Threads: any.
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
  // `threads` in total, at most `threads_per_owner` for one owner.
  FairPool(std::size_t threads, std::size_t threads_per_owner);
  FairPool(const FairPool&) = delete;
  FairPool& operator=(const FairPool&) = delete;

  // `work` must not throw.
  void Run(const std::string& owner, std::function<void()> work);
  // Returns when all work has ended, including waiting work. No Run() afterwards.
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
  std::map<std::string, Owner> owners_;  // owners with work; guarded by mutex_
  boost::asio::thread_pool threads_;
};

}  // namespace cobblestone::http
