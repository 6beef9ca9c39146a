// Incremental SHA-256.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace cobblestone::exports {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Add(std::string_view bytes);
  // 64 lower-case hexadecimal digits; call it once.
  std::string Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

struct FileDigest {
  std::uint64_t bytes = 0;
  std::string sha256;
};
// NotFound or Fatal, with the name of the file, if the file cannot be read.
Result<FileDigest> DigestOf(const std::string& path);

}  // namespace cobblestone::exports
