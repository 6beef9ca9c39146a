// A small answer of a project as a whole: tables.xml, app_versions.php, server_status.php, get_project_config.php.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "services/hub/feeds/elements.h"
#include "services/hub/feeds/file_problem.h"

namespace cobblestone::hub {

// 1 MiB. The largest real ones, app_versions.php of projects with hundreds of versions, have 200 KB.
inline constexpr std::size_t kLargestDocument = 1u << 20;

class Document {
 public:
  // `bytes` must outlive the document. Checks that they are one element `root`, and not a web page, cut off, or with
  // headers of the transfer inside.
  Document(std::string_view bytes, std::string name, std::string_view root);

  [[nodiscard]] const std::optional<FileRefusal>& refusal() const { return refusal_; }
  // Between the tags of the root. Empty if refused.
  [[nodiscard]] std::string_view contents() const { return contents_; }
  // A refusal at the line of `place`, which is a part of `bytes`, or of the file as a whole.
  [[nodiscard]] FileRefusal Refusal(FileProblem problem, std::string_view place, std::string detail) const;

 private:
  void Find(std::string_view root);

  std::string_view bytes_;
  std::string name_;
  std::string_view contents_{};
  std::optional<FileRefusal> refusal_{};
};

// The bytes of a fetched answer for Document, uncompressed, since some servers compress also what no client has asked to
// be compressed: at most kLargestDocument + 1, which Document refuses. Empty if the file cannot be read.
std::string DocumentBytes(const std::string& path);

// Whether the beginning of a file is a web page.
bool IsWebPage(std::string_view start);

}  // namespace cobblestone::hub
