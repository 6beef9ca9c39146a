// The file of the truth: what each returned result deserves, as CSV in order of event time.
//   project,result,host,user,deserved_credit,fabricated,wrong
#pragma once

#include <cstdio>
#include <string>

#include "common/base/status.h"
#include "services/fleet/fleet.h"

namespace cobblestone::fleet {

// A line with its line end. Credit in Cobblestones with six decimals.
std::string TruthLine(const Truth& truth);

class TruthFile {
 public:
  TruthFile() = default;
  TruthFile(const TruthFile&) = delete;
  TruthFile& operator=(const TruthFile&) = delete;
  ~TruthFile();

  // Replaces the file and writes the heading. InvalidArgument: the file cannot be written.
  Status Open(const std::string& path);
  // After Open. An error is returned by Close.
  void Write(const Truth& truth);
  // Ok if the file was not opened. Fatal: the disk is full, or another system error.
  Status Close();

 private:
  std::string path_;
  std::FILE* file_ = nullptr;
  bool failed_ = false;
};

}  // namespace cobblestone::fleet
