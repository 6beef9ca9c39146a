#include "common/store/rocksdb/rocksdb_status.h"

namespace cobblestone::store {

Status FromRocksdb(const rocksdb::Status& status, const std::string& doing) {
  if (status.ok()) return Status::Ok();
  const std::string what = doing + " failed: " + status.ToString();
  if (status.IsNoSpace()) {
    return Status::Full(what +
                        "; the disk is full: free disk space and start again; acknowledged data is not lost");
  }
  // RocksDB reports a missing file as an I/O error, and during recovery as corruption.
  const bool missing = status.IsPathNotFound() || status.IsNotFound() ||
                       status.ToString().find("No such file") != std::string::npos;
  if (status.IsCorruption() || missing || status.IsInvalidArgument() || status.IsNotSupported()) {
    return Status::Corrupted(what +
                             "; stored files are damaged or missing; nothing was changed; check the disk and "
                             "restore the directory from a copy");
  }
  return Status::Fatal(
      what +
      "; check the disk, the permissions and the limits of this process (ulimit -n, -f), then "
      "start again");
}

}  // namespace cobblestone::store
