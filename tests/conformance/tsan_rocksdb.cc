// Linked into tests that use RocksDB. The distribution's RocksDB is not built with ThreadSanitizer, which therefore does
// not see how RocksDB's threads hand memory to each other and takes that for races; these are left out, and so is what
// the C library does when RocksDB calls it by way of libstdc++. A race in our own code shows all the same: no frame of it
// is RocksDB's.
#if defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)

extern "C" const char* __tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "called_from_lib:librocksdb.so\n"
         "called_from_lib:libstdc++.so\n"
         "race:librocksdb.so\n"
         "race:^rocksdb::\n";
}
#endif
