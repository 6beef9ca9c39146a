#include "services/cobblestone/ledger_index.h"

#include "common/wire/grant_codec.h"
#include "common/wire/topics.h"

namespace cobblestone {
namespace {

// Big-endian, so that a project's results lie together and in order.
std::string IndexKey(ProjectId project, ResultId result) {
  std::string key(12, '\0');
  for (int i = 0; i < 4; ++i)
    key[static_cast<std::size_t>(i)] = static_cast<char>(project.value >> (24 - 8 * i));
  for (int i = 0; i < 8; ++i)
    key[static_cast<std::size_t>(4 + i)] = static_cast<char>(result.value >> (56 - 8 * i));
  return key;
}

}  // namespace

Result<std::unique_ptr<LedgerIndex>> LedgerIndex::Open(const std::string& path, stream::embedded::Log& log,
                                                       std::uint32_t partitions) {
  auto index = stream::embedded::KeyIndex::Open(
      log, {.path = path,
            .name = "grants by project and result, 1",
            .topic = wire::kGrants,
            .partitions = partitions,
            .keys = [](std::string_view record, const stream::embedded::AddKey& add) {
              wire::GrantHead head;
              if (!wire::DecodeGrantHead(record, &head) || wire::IsHostMove(head.kind)) return;
              if (head.result) add(IndexKey(head.project, head.result));
            }});
  if (!index.ok()) return index.status();
  return std::unique_ptr<LedgerIndex>(new LedgerIndex(std::move(*index)));
}

Result<std::vector<LedgerPlace>> LedgerIndex::Find(ProjectId project, ResultId result) {
  auto found = index_->Find(IndexKey(project, result));
  if (!found.ok()) return found.status();
  std::vector<LedgerPlace> places;
  for (const auto& place : *found) places.push_back({.partition = place.partition, .offset = place.offset});
  return places;
}

}  // namespace cobblestone
