// A set of ids. Ids of a project lie close together, so one entry holds 64 neighbours: 10^7 users with ids below
// 2 x 10^7 take 10 MB. At worst, with no two ids in one block of 64, an id takes 32 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cobblestone::hub {

class IdSet {
 public:
  // False: the id was in the set.
  bool Insert(std::uint64_t id) {
    if ((used_ + 1) * 2 > blocks_.size()) Grow();
    Block& block = Find(id >> 6);
    const std::uint64_t bit = std::uint64_t{1} << (id & 63);
    if (block.bits == 0) ++used_;
    const bool added = (block.bits & bit) == 0;
    block.number = id >> 6;
    block.bits |= bit;
    if (added) ++size_;
    return added;
  }
  [[nodiscard]] bool Contains(std::uint64_t id) const {
    if (blocks_.empty()) return false;
    return (const_cast<IdSet*>(this)->Find(id >> 6).bits & std::uint64_t{1} << (id & 63)) != 0;
  }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  struct Block {
    std::uint64_t number = 0;
    std::uint64_t bits = 0;  // 0: the entry is free
  };

  // The entry of the block, or the free one for it.
  Block& Find(std::uint64_t number) {
    const std::size_t mask = blocks_.size() - 1;
    std::uint64_t hash = (number ^ seed_) * 0x9E3779B97F4A7C15;
    hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93;
    std::size_t at = static_cast<std::size_t>(hash >> 32) & mask;
    while (blocks_[at].bits != 0 && blocks_[at].number != number) at = (at + 1) & mask;
    return blocks_[at];
  }
  void Grow() {
    std::vector<Block> old(blocks_.empty() ? 64 : blocks_.size() * 2);
    old.swap(blocks_);
    for (const Block& block : old)
      if (block.bits != 0) Find(block.number) = block;
  }

  std::vector<Block> blocks_;
  // The address of this set differs from run to run, so a project cannot choose ids that collide.
  std::uint64_t seed_ = reinterpret_cast<std::uintptr_t>(this);
  std::size_t used_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace cobblestone::hub
