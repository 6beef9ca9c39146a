#include "services/hub/feeds/document.h"

#include <algorithm>
#include <utility>

#include "services/hub/feeds/feed_input.h"
#include "services/hub/feeds/figures.h"

namespace cobblestone::hub {

bool IsWebPage(std::string_view start) {
  std::string lower(start.substr(0, 1024));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lower.find("<html") != std::string::npos || lower.find("<!doctype html") != std::string::npos;
}

std::string DocumentBytes(const std::string& path) {
  const auto input = FeedInput::OpenFile(path, {});
  if (!input.ok()) return "";
  std::string bytes(kLargestDocument + 1, '\0');
  std::size_t size = 0;
  for (std::size_t got = 1; got > 0 && size < bytes.size(); size += got)
    got = (*input)->Read(bytes.data() + size, bytes.size() - size);
  bytes.resize(size);
  return bytes;
}

Document::Document(std::string_view bytes, std::string name, std::string_view root)
    : bytes_(bytes), name_(std::move(name)) {
  const std::size_t chunk = FindChunkHeader(bytes);
  if (bytes.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    refusal_ = Refusal(FileProblem::kEmpty, {}, "");
  } else if (bytes.size() > kLargestDocument) {
    refusal_ =
        Refusal(FileProblem::kTooLarge, {}, "more than " + std::to_string(kLargestDocument) + " bytes");
  } else if (IsWebPage(bytes)) {
    refusal_ = Refusal(FileProblem::kHtml, {}, Printable(bytes));
  } else if (chunk != std::string_view::npos) {
    refusal_ = Refusal(FileProblem::kChunkHeader, bytes.substr(chunk), Printable(bytes.substr(chunk)));
  } else {
    Find(root);
  }
}

void Document::Find(std::string_view root) {
  const std::string open = "<" + std::string(root) + ">";
  const std::string close = "</" + std::string(root) + ">";
  const std::size_t begin = bytes_.find(open);
  if (begin == std::string_view::npos || begin > 1024) {
    refusal_ = Refusal(FileProblem::kNotStatistics, {}, "no " + open + ": " + Printable(bytes_));
    return;
  }
  const std::size_t end = bytes_.rfind(close);
  if (end == std::string_view::npos || end < begin) {
    refusal_ = Refusal(FileProblem::kTruncated, {}, "no " + close);
    return;
  }
  contents_ = bytes_.substr(begin + open.size(), end - begin - open.size());
}

FileRefusal Document::Refusal(FileProblem problem, std::string_view place, std::string detail) const {
  std::uint64_t line = 0;
  if (place.data() != nullptr && place.data() >= bytes_.data() &&
      place.data() <= bytes_.data() + bytes_.size())
    line = 1 + static_cast<std::uint64_t>(std::count(bytes_.data(), place.data(), '\n'));
  return {.problem = problem, .file = name_, .line = line, .detail = std::move(detail)};
}

}  // namespace cobblestone::hub
