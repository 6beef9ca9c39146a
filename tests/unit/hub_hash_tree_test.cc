// The hash tree of RFC 6962: published roots, and a path for every line of trees of every size up to 70.
#include "services/hub/snapshot/hash_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/hub/snapshot/canonical_text.h"

namespace cobblestone::hub {
namespace {

// The inputs and roots of the reference implementation of Certificate Transparency.
TEST(HashTree, HasTheRootsOfTheReferenceImplementation) {
  const std::vector<std::string> inputs = {
      "",
      FromHex("00"),
      FromHex("10"),
      FromHex("2021"),
      FromHex("3031"),
      FromHex("40414243"),
      FromHex("5051525354555657"),
      FromHex("606162636465666768696a6b6c6d6e6f"),
  };
  const std::vector<std::string> roots = {
      "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
      "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
      "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
      "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
      "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
      "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
      "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
  };
  HashTree tree;
  EXPECT_EQ(ToHex(tree.Root()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    tree.Add(inputs[i]);
    EXPECT_EQ(ToHex(tree.Root()), roots[i]) << i + 1 << " lines";
  }
}

std::string LineAt(std::uint64_t i) { return "line " + std::to_string(i); }

TEST(HashTree, ProvesEveryLineAndNoOther) {
  for (std::uint64_t size = 1; size <= 70; ++size) {
    for (std::uint64_t index = 0; index < size; ++index) {
      HashTree tree(index);
      for (std::uint64_t i = 0; i < size; ++i) tree.Add(LineAt(i));
      const std::vector<Hash> path = tree.Path();
      EXPECT_EQ(RootFromPath(LineAt(index), index, size, path), tree.Root()) << index << " of " << size;
      EXPECT_NE(RootFromPath(LineAt(size), index, size, path), tree.Root());
      EXPECT_NE(RootFromPath(LineAt(index), index + 1, size, path), tree.Root());
      std::vector<Hash> longer = path;
      longer.push_back(tree.Root());
      EXPECT_EQ(RootFromPath(LineAt(index), index, size, longer), std::nullopt);
      if (!path.empty()) {
        EXPECT_EQ(RootFromPath(LineAt(index), index, size, {path.begin(), path.end() - 1}), std::nullopt);
      }
    }
  }
}

}  // namespace
}  // namespace cobblestone::hub
