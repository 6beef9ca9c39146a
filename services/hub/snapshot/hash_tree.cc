#include "services/hub/snapshot/hash_tree.h"

#include <openssl/evp.h>

#include "common/base/check.h"

namespace cobblestone::hub {
namespace {

Hash LeafOf(std::string_view line) {
  Sha256 sum;
  sum.Add(std::string_view("\0", 1));
  sum.Add(line);
  return sum.Finish();
}

Hash NodeOf(const Hash& left, const Hash& right) { return Sha256Of("\1" + left + right); }

}  // namespace

struct Sha256::Context {
  Context() : md(::EVP_MD_CTX_new()) {}
  ~Context() { ::EVP_MD_CTX_free(md); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  EVP_MD_CTX* md;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  COBBLESTONE_CHECK(::EVP_DigestInit_ex(context_->md, ::EVP_sha256(), nullptr) == 1,
                    "OpenSSL does not provide SHA-256");
}
Sha256::~Sha256() = default;

void Sha256::Add(std::string_view bytes) {
  COBBLESTONE_CHECK(::EVP_DigestUpdate(context_->md, bytes.data(), bytes.size()) == 1,
                    "cannot continue a checksum");
}

Hash Sha256::Finish() {
  Hash hash(32, '\0');
  COBBLESTONE_CHECK(
      ::EVP_DigestFinal_ex(context_->md, reinterpret_cast<unsigned char*>(hash.data()), nullptr) == 1,
      "a checksum is finished only once");
  return hash;
}

Hash Sha256Of(std::string_view bytes) {
  Sha256 sum;
  sum.Add(bytes);
  return sum.Finish();
}

HashTree::Node HashTree::Merge(const Node& left, const Node& right, std::vector<Hash>* path) {
  if (left.proven) path->push_back(right.hash);
  if (right.proven) path->push_back(left.hash);
  return {.leaves = left.leaves + right.leaves,
          .hash = NodeOf(left.hash, right.hash),
          .proven = left.proven || right.proven};
}

void HashTree::Add(std::string_view line) {
  nodes_.push_back({.leaves = 1, .hash = LeafOf(line), .proven = proven_ == size_});
  ++size_;
  while (nodes_.size() > 1 && nodes_[nodes_.size() - 2].leaves == nodes_.back().leaves) {
    const Node right = std::move(nodes_.back());
    nodes_.pop_back();
    nodes_.back() = Merge(nodes_.back(), right, &path_);
  }
}

Hash HashTree::Root() const {
  if (nodes_.empty()) return Sha256Of("");
  Hash root = nodes_.back().hash;
  for (std::size_t i = nodes_.size() - 1; i > 0; --i) root = NodeOf(nodes_[i - 1].hash, root);
  return root;
}

std::vector<Hash> HashTree::Path() const {
  std::vector<Hash> path = path_;
  if (nodes_.empty()) return path;
  Node rest = nodes_.back();
  for (std::size_t i = nodes_.size() - 1; i > 0; --i) rest = Merge(nodes_[i - 1], rest, &path);
  return path;
}

std::optional<Hash> RootFromPath(std::string_view line, std::uint64_t index, std::uint64_t size,
                                 const std::vector<Hash>& path) {
  if (index >= size) return std::nullopt;
  std::uint64_t at = index;
  std::uint64_t last = size - 1;
  Hash hash = LeafOf(line);
  for (const Hash& beside : path) {
    if (last == 0) return std::nullopt;
    if (at % 2 == 1 || at == last) {
      hash = NodeOf(beside, hash);
      while (at % 2 == 0 && at != 0) {
        at /= 2;
        last /= 2;
      }
    } else {
      hash = NodeOf(hash, beside);
    }
    at /= 2;
    last /= 2;
  }
  if (last != 0) return std::nullopt;
  return hash;
}

}  // namespace cobblestone::hub
