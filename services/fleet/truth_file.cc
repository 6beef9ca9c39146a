#include "services/fleet/truth_file.h"

#include <cerrno>
#include <cstring>

namespace cobblestone::fleet {

std::string TruthLine(const Truth& truth) {
  constexpr std::int64_t kMicro = 1'000'000;
  std::string decimals = std::to_string(truth.deserved_micro % kMicro);
  decimals.insert(0, 6 - decimals.size(), '0');
  return std::to_string(truth.project) + "," + std::to_string(truth.result) + "," +
         std::to_string(truth.host) + "," + std::to_string(truth.user) + "," +
         std::to_string(truth.deserved_micro / kMicro) + "." + decimals + "," +
         (truth.fabricated ? "1," : "0,") + (truth.wrong ? "1\n" : "0\n");
}

TruthFile::~TruthFile() {
  if (file_ != nullptr) std::fclose(file_);
}

Status TruthFile::Open(const std::string& path) {
  path_ = path;
  file_ = std::fopen(path.c_str(), "we");
  if (file_ == nullptr) return Status::InvalidArgument("cannot write " + path + ": " + std::strerror(errno));
  constexpr const char* kHeading = "project,result,host,user,deserved_credit,fabricated,wrong\n";
  failed_ = std::fputs(kHeading, file_) < 0;
  return Status::Ok();
}

void TruthFile::Write(const Truth& truth) {
  const std::string line = TruthLine(truth);
  failed_ = failed_ || std::fwrite(line.data(), 1, line.size(), file_) != line.size();
}

Status TruthFile::Close() {
  if (file_ == nullptr) return Status::Ok();
  failed_ = std::fclose(file_) != 0 || failed_;
  file_ = nullptr;
  return failed_ ? Status::Fatal("cannot write all of " + path_ + "; is the disk full?") : Status::Ok();
}

}  // namespace cobblestone::fleet
