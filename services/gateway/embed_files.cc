// embed_files OUTPUT.cc FUNCTION ROOT [FILE...]: writes C++ in which FUNCTION() returns the list of the files
// as EmbeddedFile, by their paths below ROOT. Deterministic.
#include <openssl/sha.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

const std::map<std::string_view, std::string_view>& Types() {
  static const std::map<std::string_view, std::string_view> kTypes = {
      {"html", "text/html; charset=utf-8"},
      {"js", "text/javascript; charset=utf-8"},
      {"css", "text/css; charset=utf-8"},
      {"json", "application/json"},
      {"map", "application/json"},
      {"svg", "image/svg+xml"},
      {"png", "image/png"},
      {"ico", "image/x-icon"},
      {"woff2", "font/woff2"},
      {"webmanifest", "application/manifest+json"},
      {"txt", "text/plain; charset=utf-8"}};
  return kTypes;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Gzip(const std::string& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("cannot initialize zlib");
  std::string out(deflateBound(&stream, bytes.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
    throw std::runtime_error("zlib failed at the end of the data");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string EtagOf(const std::string& bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  std::string text = "\\\"";
  for (int i = 0; i < 16; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", digest[i]);
    text += two;
  }
  return text + "\\\"";
}

void WriteArray(std::ofstream& out, const std::string& name, const std::string& bytes) {
  out << "constexpr unsigned char " << name << "[] = {";
  std::string line;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 40 == 0) line += '\n';
    line += std::to_string(static_cast<unsigned char>(bytes[i])) + ",";
  }
  out << line << "0};\n";
}

void Run(int argc, char** argv) {
  if (argc < 4) throw std::runtime_error("embed_files OUTPUT.cc FUNCTION ROOT [FILE...]");
  const std::string root = argv[3];
  std::vector<std::string> files(argv + 4, argv + argc);
  std::sort(files.begin(), files.end());
  std::ofstream out(argv[1], std::ios::binary | std::ios::trunc);
  out << "#include \"services/gateway/embedded_files.h\"\n\nnamespace cobblestone::gateway {\nnamespace {\n\n"
      << "[[maybe_unused]] std::string_view Text(const unsigned char* bytes, std::size_t size) {\n"
      << "  return {reinterpret_cast<const char*>(bytes), size};\n}\n\n";
  std::string list;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string& file = files[i];
    if (!file.starts_with(root + "/")) throw std::runtime_error(file + " is not below " + root);
    const auto type = Types().find(std::string_view(file).substr(file.rfind('.') + 1));
    if (type == Types().end())
      throw std::runtime_error(file + ": unknown file type; add the type to embed_files.cc");
    const std::string bytes = ReadFile(file);
    std::string gzip = Gzip(bytes);
    if (gzip.size() >= bytes.size()) gzip.clear();
    const std::string n = std::to_string(i);
    WriteArray(out, "kBytes" + n, bytes);
    WriteArray(out, "kGzip" + n, gzip);
    list += "      {\"" + file.substr(root.size()) + "\", \"" + std::string(type->second) + "\", \"" +
            EtagOf(bytes) + "\",\n       Text(kBytes" + n + ", " + std::to_string(bytes.size()) +
            "), Text(kGzip" + n + ", " + std::to_string(gzip.size()) + ")},\n";
  }
  out << "\n}  // namespace\n\nstd::span<const EmbeddedFile> " << argv[2] << "() {\n";
  if (list.empty()) {
    out << "  return {};\n";
  } else {
    out << "  static const EmbeddedFile kFiles[] = {\n" << list << "  };\n  return kFiles;\n";
  }
  out << "}\n\n}  // namespace cobblestone::gateway\n";
  out.close();
  if (!out) throw std::runtime_error(std::string("cannot write ") + argv[1]);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Run(argc, argv);
    return EXIT_SUCCESS;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "embed_files: %s\n", e.what());
    return EXIT_FAILURE;
  }
}
