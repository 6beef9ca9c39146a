#include "common/stream/embedded/runner/state_files.h"

#include <filesystem>
#include <fstream>

namespace cobblestone::stream::embedded {

namespace fs = std::filesystem;

namespace {

std::string DistrustedPath(const std::string& state_path) { return state_path + ".distrusted"; }

}  // namespace

std::string StatePath(const RunnerOptions& options, std::uint32_t slot) {
  return options.directory + "/state/slot-" + std::to_string(slot);
}

std::string CheckpointPath(const RunnerOptions& options, std::uint32_t slot) {
  return options.directory + "/checkpoints/slot-" + std::to_string(slot);
}

void Distrust(const std::string& state_path, const Status& why) {
  std::ofstream(DistrustedPath(state_path)) << why.message() << "\n";
}

bool IsDistrusted(const std::string& state_path) { return fs::exists(DistrustedPath(state_path)); }

void RemoveDistrust(const std::string& state_path) {
  std::error_code ignored;
  fs::remove(DistrustedPath(state_path), ignored);
}

std::string Quarantine(const std::string& state_path) {
  std::string aside = state_path + ".damaged";
  std::error_code ignored;
  fs::remove_all(aside, ignored);
  fs::rename(state_path, aside, ignored);
  return aside;
}

}  // namespace cobblestone::stream::embedded
