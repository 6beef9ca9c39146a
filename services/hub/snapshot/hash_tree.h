// SHA-256, and the hash tree over the lines of a part: the Merkle tree of RFC 6962, section 2.1 (leaf: SHA-256 of 0x00
// and the line; node: SHA-256 of 0x01 and the two hashes below; no lines: SHA-256 of nothing). A line is hashed without
// its line break.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cobblestone::hub {

using Hash = std::string;  // 32 bytes

Hash Sha256Of(std::string_view bytes);

// Incremental SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Add(std::string_view bytes);
  Hash Finish();  // once

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// The tree over lines that are added in order. Memory: one hash per level.
class HashTree {
 public:
  // `proven`: index of the line whose path is collected.
  explicit HashTree(std::optional<std::uint64_t> proven = std::nullopt) : proven_(proven) {}

  void Add(std::string_view line);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // The root of the tree so far.
  [[nodiscard]] Hash Root() const;
  // The audit path of the proven line: the hashes beside its way to the root, from the bottom up.
  [[nodiscard]] std::vector<Hash> Path() const;

 private:
  struct Node {
    std::uint64_t leaves = 0;  // a power of two
    Hash hash;
    bool proven = false;  // above the proven line
  };
  static Node Merge(const Node& left, const Node& right, std::vector<Hash>* path);

  std::vector<Node> nodes_;  // from left to right, of falling size
  std::vector<Hash> path_;
  std::optional<std::uint64_t> proven_;
  std::uint64_t size_ = 0;
};

// The root that follows from a line, its index, the size of the tree and the path; nothing if the path has the wrong
// length (RFC 9162, section 2.1.3.2).
std::optional<Hash> RootFromPath(std::string_view line, std::uint64_t index, std::uint64_t size,
                                 const std::vector<Hash>& path);

}  // namespace cobblestone::hub
