#include "services/cobblestone/ledger_index.h"

#include "common/wire/account_codec.h"
#include "common/wire/grant_codec.h"
#include "common/wire/mark_codec.h"
#include "common/wire/topics.h"

namespace cobblestone {
namespace {

// Big-endian, so that a project's results lie together and in order.
std::string IndexKey(ProjectId project, ResultId result) {
  std::string key(12, '\0');
  for (std::size_t i = 0; i < 4; ++i) key[i] = static_cast<char>(project.value >> (24 - 8 * i));
  for (std::size_t i = 0; i < 8; ++i) key[4 + i] = static_cast<char>(result.value >> (56 - 8 * i));
  return key;
}

Result<std::vector<LedgerPlace>> Find(stream::embedded::KeyIndex& index, ProjectId project, ResultId result) {
  auto found = index.Find(IndexKey(project, result));
  if (!found.ok()) return found.status();
  std::vector<LedgerPlace> places;
  for (const auto& place : *found) places.push_back({.partition = place.partition, .offset = place.offset});
  return places;
}

}  // namespace

Result<std::unique_ptr<LedgerIndex>> LedgerIndex::Open(const std::string& path, stream::embedded::Log& log,
                                                       std::uint32_t partitions) {
  using stream::embedded::AddKey;
  using stream::embedded::KeyIndex;
  std::unique_ptr<LedgerIndex> made(new LedgerIndex);
  auto grants =
      KeyIndex::Open(log, {.path = path + "/grants",
                           .name = "grants by project and result, 1",
                           .topic = wire::kGrants,
                           .partitions = partitions,
                           .keys = [](std::string_view record, const AddKey& add) {
                             wire::GrantHead head;
                             if (!wire::DecodeGrantHead(record, &head) || wire::IsHostMove(head.kind)) return;
                             if (head.result) add(IndexKey(head.project, head.result));
                           }});
  if (!grants.ok()) return grants.status();
  made->grants_ = std::move(*grants);
  auto postings =
      KeyIndex::Open(log, {.path = path + "/postings",
                           .name = "postings by project and result, 1",
                           .topic = wire::kPostings,
                           .partitions = partitions,
                           .keys = [](std::string_view record, const AddKey& add) {
                             wire::Posting posting;
                             if (wire::IsPassedPosting(record) || !wire::DecodePosting(record, &posting))
                               return;
                             if (posting.result) add(IndexKey(posting.project, posting.result));
                           }});
  if (!postings.ok()) return postings.status();
  made->postings_ = std::move(*postings);
  return made;
}

Result<std::vector<LedgerPlace>> LedgerIndex::Grants(ProjectId project, ResultId result) {
  return Find(*grants_, project, result);
}

Result<std::vector<LedgerPlace>> LedgerIndex::Postings(ProjectId project, ResultId result) {
  return Find(*postings_, project, result);
}

}  // namespace cobblestone
