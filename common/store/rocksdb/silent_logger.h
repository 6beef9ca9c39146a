// Disables RocksDB's info log. Our own messages contain what an operator needs, and the info log would be the
// only file that a read-only open creates. It would also crash the process on a full disk: RocksDB asserts
// that a file is not written after a failed write, and its info log violates that.
#pragma once

#include <cstdarg>

#include <rocksdb/env.h>

namespace cobblestone::store {

class SilentLogger final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

}  // namespace cobblestone::store
