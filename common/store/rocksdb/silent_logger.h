// RocksDB writes a diary of its own beside its files; ours does not: our own messages say what an operator must
// know, and a diary would be the one file that a read-only open makes. And on a full disk it ends the process:
// RocksDB asserts that nobody writes on into a file whose last write has failed, and its diary does.
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
