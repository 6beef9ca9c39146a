#include "common/base/build_id.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>

namespace cobblestone {
namespace {

constexpr std::size_t kDigits = 12;

// Reads the notes of the program itself, the first object in the list.
int FindIn(dl_phdr_info* info, std::size_t, void* out) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
    const char* end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* name = at + sizeof note;
      const char* bytes = name + ((note.n_namesz + 3) & ~3u);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        auto& id = *static_cast<std::string*>(out);
        for (std::size_t b = 0; b < note.n_descsz && id.size() < kDigits; ++b) {
          constexpr char kHex[] = "0123456789abcdef";
          const auto byte = static_cast<unsigned char>(bytes[b]);
          id += {kHex[byte >> 4], kHex[byte & 15]};
        }
      }
      at = bytes + ((note.n_descsz + 3) & ~3u);
    }
  }
  return 1;
}

}  // namespace

std::string BuildId() {
  std::string id;
  ::dl_iterate_phdr(FindIn, &id);
  return id;
}

}  // namespace cobblestone
