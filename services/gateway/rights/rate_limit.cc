#include "services/gateway/rights/rate_limit.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

namespace cobblestone::gateway {
namespace {

std::string KeyOf(std::string_view address) {
  in6_addr six{};
  std::string text(address.substr(0, address.find('%')));
  if (::inet_pton(AF_INET6, text.c_str(), &six) != 1 || IN6_IS_ADDR_V4MAPPED(&six)) return text;
  return {reinterpret_cast<const char*>(six.s6_addr), 8};
}

}  // namespace

double RateLimit::Take(std::string_view address, double now) {
  std::string key = KeyOf(address);
  const std::lock_guard lock(mutex_);
  const auto known = by_address_.find(key);
  if (known != by_address_.end()) {
    buckets_.splice(buckets_.begin(), buckets_, known->second);
  } else {
    if (buckets_.size() >= options_.addresses) {
      by_address_.erase(buckets_.back().address);
      buckets_.pop_back();
    }
    buckets_.push_front({.address = std::move(key), .left = options_.burst, .at = now});
    by_address_.emplace(buckets_.front().address, buckets_.begin());
  }
  Bucket& bucket = buckets_.front();
  bucket.left = std::min(options_.burst, bucket.left + std::max(0.0, now - bucket.at) * options_.per_second);
  bucket.at = now;
  if (bucket.left < 1) return (1 - bucket.left) / options_.per_second;
  bucket.left -= 1;
  return 0;
}

void RateLimit::Charge(std::string_view address, double cost) {
  const std::lock_guard lock(mutex_);
  const auto known = by_address_.find(KeyOf(address));
  if (known == by_address_.end()) return;  // evicted meanwhile
  known->second->left = std::max(known->second->left - cost, -options_.burst);
}

std::size_t RateLimit::addresses() const {
  const std::lock_guard lock(mutex_);
  return buckets_.size();
}

}  // namespace cobblestone::gateway
