// RocksDB writes a diary of its own beside its files; ours does not: our own messages say what an operator must know, and
// a diary would be the one file that a read-only open makes.
#pragma once

#include <cstdarg>

#include <rocksdb/env.h>

namespace cobblestone::stream::embedded {

class SilentLogger final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

}  // namespace cobblestone::stream::embedded
