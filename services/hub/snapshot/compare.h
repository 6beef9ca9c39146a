// Compares snapshots of several hubs by their manifests: which parts are equal, and how many hubs agree (N of M). Two hubs
// with the same inputs agree in everything; hubs that disagree in one project still agree in the others.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::hub {

// The snapshots that have one value.
struct Camp {
  std::string value;                   // for people
  std::vector<std::size_t> snapshots;  // indices of directories, ascending
};

struct ComparedItem {
  std::string what;         // "date", "consent", "milkyway state", "milkyway users"
  std::vector<Camp> camps;  // the largest first; of equal size: the one with the smallest index first

  [[nodiscard]] bool agreed() const { return camps.size() == 1; }
};

struct Comparison {
  std::size_t snapshots = 0;
  std::vector<ComparedItem> items;  // date and consent, then by project
  [[nodiscard]] bool agreed() const;
  // The smallest of the largest camps: in every item, at least so many snapshots agree.
  [[nodiscard]] std::size_t agreement() const;
};

// Reads the manifests only; VerifySnapshot checks that the files of a snapshot are those of its manifest.
// kNotFound, kInvalidArgument: a directory has no usable manifest, or its signature is wrong. Needs two directories.
Result<Comparison> CompareSnapshots(const std::vector<std::string>& directories);

}  // namespace cobblestone::hub
