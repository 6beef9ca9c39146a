#include "services/export/files/read_back.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "services/export/files/digest.h"
#include "services/export/files/record_file.h"

namespace cobblestone::exports {

// A record, or a removed key (`copies` 0): the records of earlier links with this key no longer exist.
struct ExportChain::Record {
  RecordKey key;
  RecordHash hash = 0;
  __int128 credit = 0;
  std::uint32_t link = 0;
  std::uint32_t copies = 1;
};

Result<ExportChain> ExportChain::Open(const std::vector<std::string>& directories) {
  ExportChain chain;
  for (const std::string& directory : directories) {
    auto loaded = LoadManifest(directory);
    if (!loaded.ok()) return loaded.status();
    const auto& base = loaded->manifest.base;
    if (chain.links_.empty() && base)
      return Status::InvalidArgument(directory + " is an incremental export that follows " + base->directory +
                                     "; give the full export first, then the incremental ones in order");
    if (!chain.links_.empty() && !base)
      return Status::InvalidArgument(directory + " is a full export and cannot follow another export");
    if (!chain.links_.empty() && base->manifest_sha256 != chain.links_.back().sha256)
      return Status::Corrupted(directory + " follows an export with manifest checksum " +
                               base->manifest_sha256 + " (" + base->directory + "), but the checksum of " +
                               chain.links_.back().directory + " has " + chain.links_.back().sha256);
    chain.links_.push_back(
        {.directory = directory, .manifest = std::move(loaded->manifest), .sha256 = loaded->sha256});
  }
  if (chain.links_.empty()) return Status::InvalidArgument("no export was given");
  return chain;
}

Base ExportChain::AsBase() const {
  std::string directory = links_.back().directory;
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  return {.directory = std::filesystem::path(directory).filename().string(),
          .manifest_sha256 = links_.back().sha256,
          .time = last().time};
}

Status ExportChain::CheckFiles(const std::function<void(const std::string& file)>& progress) const {
  for (const Link& link : links_) {
    for (const FileFigures& file : link.manifest.files) {
      const std::string path = link.directory + "/" + file.name;
      if (progress) progress(path);
      const auto digest = DigestOf(path);
      if (!digest.ok()) return digest.status();
      if (digest->bytes != file.bytes || digest->sha256 != file.sha256)
        return Status::Corrupted(path + " is corrupted: it has " + std::to_string(digest->bytes) +
                                 " bytes and checksum " + digest->sha256 + ", but was written with " +
                                 std::to_string(file.bytes) + " and " + file.sha256);
    }
  }
  return Status::Ok();
}

Result<std::vector<ExportChain::Record>> ExportChain::Replay(const std::string& output) const {
  std::vector<Record> records;
  for (std::uint32_t at = 0; at < links_.size(); ++at) {
    const Link& link = links_[at];
    const auto& outputs = link.manifest.outputs;
    const auto figures = std::find_if(outputs.begin(), outputs.end(),
                                      [&](const OutputFigures& o) { return o.name == output; });
    if (figures == outputs.end()) {
      records.clear();  // without this output in an export, no earlier records remain
      continue;
    }
    for (const std::string& file : figures->files) {
      Status status = ReadRecords(
          link.directory + "/" + file, figures->record, [&](const RecordKey& key, std::string_view record) {
            records.push_back({.key = key, .hash = HashOf(record), .credit = CreditOf(record), .link = at});
            return Status::Ok();
          });
      if (!status.ok()) return status;
    }
    if (!figures->removed_file.empty()) {
      Status status = ReadRemoved(link.directory + "/" + figures->removed_file, [&](const RecordKey& key) {
        records.push_back({.key = key, .link = at, .copies = 0});
        return Status::Ok();
      });
      if (!status.ok()) return status;
    }
  }
  // For each key, the last link that contains the key is valid.
  std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
    return a.key != b.key ? a.key < b.key : a.link > b.link;
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < records.size();) {
    const Record newest = records[i];
    for (; i < records.size() && records[i].key == newest.key; ++i) {
      if (records[i].link == newest.link && records[i].copies > 0) records[kept++] = records[i];
    }
  }
  records.resize(kept);
  return records;
}

Result<RecordSet> ExportChain::Records(const std::string& output) const {
  auto records = Replay(output);
  if (!records.ok()) return records.status();
  RecordSet set;
  for (const Record& record : *records) set.Add(record.key, record.hash);
  set.Order();
  return set;
}

Result<RecordTotals> ExportChain::Totals(const std::string& output) const {
  auto records = Replay(output);
  if (!records.ok()) return records.status();
  RecordTotals totals;
  for (const Record& record : *records) {
    ++totals.records;
    totals.credit += record.credit;
    totals.hash += record.hash;
  }
  return totals;
}

}  // namespace cobblestone::exports
