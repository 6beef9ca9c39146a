#include "services/boinc/line_file.h"

#include <zlib.h>

#include <cstring>

namespace cobblestone::boinc {

void LineFile::Closer::operator()(void* file) const {
  // The file was only read, so closing cannot lose data.
  gzclose(static_cast<gzFile>(file));
}

Result<LineFile> LineFile::Open(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return Status::NotFound(path + ": cannot open for reading: " + std::strerror(errno));
  return LineFile(path, file);
}

std::uint64_t LineFile::bytes_read() const {
  const z_off_t offset = gzoffset(static_cast<gzFile>(file_.get()));
  return offset < 0 ? 0 : static_cast<std::uint64_t>(offset);
}

Status LineFile::Next(std::string* line, bool* more) {
  auto* file = static_cast<gzFile>(file_.get());
  line->clear();
  *more = false;
  char buffer[1 << 14];
  while (gzgets(file, buffer, sizeof buffer) != nullptr) {
    // gzgets does not report the number of bytes. A byte 0 would hide the rest of its line; JSON contains none.
    const std::size_t size = std::strlen(buffer);
    line->append(buffer, size);
    if (line->empty() || line->back() != '\n') {
      if (size + 1 < sizeof buffer && gzeof(file) == 0) {
        return Status::InvalidArgument(path_ + ": line " + std::to_string(lines_ + 1) +
                                       ": the text contains a byte 0; events must be UTF-8");
      }
      continue;
    }
    ++lines_;
    line->pop_back();
    if (!line->empty() && line->back() == '\r') line->pop_back();
    *more = true;
    return Status::Ok();
  }
  int code = Z_OK;
  const char* why = gzerror(file, &code);
  if (code != Z_OK && code != Z_STREAM_END)
    return Status::InvalidArgument(path_ + ": line " + std::to_string(lines_ + 1) + ": read error: " + why);
  *more = !line->empty();  // a last line without a line end
  return Status::Ok();
}

}  // namespace cobblestone::boinc
