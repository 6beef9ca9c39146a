// Reads any text as a file of entities. The result is an error, or rows and lookups that the reader answers or
// refuses without a crash.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "services/export/entities_file.h"

using namespace cobblestone;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A file in memory, because the reader needs a path.
  static const int kFile = ::memfd_create("entities", 0);
  static const std::string kPath = "/proc/self/fd/" + std::to_string(kFile);
  if (::ftruncate(kFile, 0) != 0 || ::pwrite(kFile, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  auto entities = exports::EntitiesFile::Open(kPath, {});
  if (!entities.ok()) return 0;
  const auto each = [](const auto&) { return Status::Ok(); };
  (void)(*entities)->Users([&](const exports::User& user) {
    std::vector<exports::AppCredit> credit;
    (void)(*entities)->CreditOfUser(user.id, &credit);
    (void)(*entities)->ConsentCopies(user.id);
    return (*entities)->Members(user.teamid, each);
  });
  (void)(*entities)->Teams(each);
  (void)(*entities)->Hosts(each);
  (void)(*entities)->UsersDeleted(each);
  (void)(*entities)->HostsDeleted(each);
  (void)(*entities)->UserBadges(each);
  (void)(*entities)->TeamBadges(each);
  return 0;
}
