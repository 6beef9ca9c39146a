#include "tests/layering/tree.h"

#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <utility>

namespace cobblestone::layering {
namespace {

const std::set<std::string> kSourceExtensions = {".h",   ".cc",  ".proto", ".c",   ".cpp",
                                                 ".cxx", ".hpp", ".hh",    ".inc", ".hxx"};

// Configuration, deployment, examples, the description of the API and the sources of the web page.
bool IsText(std::string_view path) {
  return IsWithin(path, "config") || IsWithin(path, "deploy") || IsWithin(path, "examples") ||
         path == "services/gateway/openapi.json" || IsWithin(path, "services/gateway/web/src");
}

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot be read: " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

SourceFile ReadSource(const std::filesystem::path& path) {
  SourceFile file;
  file.text = ReadAll(path);
  if (path.extension() != ".proto") {
    file.code = CodeOnly(file.text);
    file.includes = IncludesOf(file.text);
  }
  return file;
}

}  // namespace

Tree ReadTree(const std::filesystem::path& root) {
  Tree tree;
  using Walk = std::filesystem::recursive_directory_iterator;
  for (Walk entry(root); entry != Walk(); ++entry) {
    const std::filesystem::path& path = entry->path();
    const std::string name = path.filename().string();
    const std::string relative = path.lexically_relative(root).generic_string();
    if (entry->is_directory()) {
      // The programs that benchmarks compare with have their own builds.
      if (name.starts_with('.') || name == "build" || name == "node_modules" ||
          relative == "tests/bench/peers")
        entry.disable_recursion_pending();
      if (!name.starts_with('.') && name != "build") tree.paths.insert(relative);
      continue;
    }
    tree.paths.insert(relative);
    const std::string extension = path.extension().string();
    if (name == "CMakeLists.txt") {
      tree.cmake[FolderOf(relative)] = CMakeCallsOf(ReadAll(path));
    } else if (name == "README.md") {
      tree.readmes[FolderOf(relative)] = ReadAll(path);
      tree.documents[relative] = tree.readmes[FolderOf(relative)];
    } else if (extension == ".md") {
      tree.documents[relative] = ReadAll(path);
    } else if (kSourceExtensions.contains(extension)) {
      tree.sources[relative] = ReadSource(path);
    } else if (extension == ".sh" || extension == ".py") {
      tree.scripts.push_back(relative);
    }
    if (IsText(relative) && extension != ".md" && !kSourceExtensions.contains(extension))
      tree.texts[relative] = ReadAll(path);
  }
  return tree;
}

std::string FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}

bool IsWithin(std::string_view path, std::string_view folder) {
  return path == folder ||
         (path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/');
}

}  // namespace cobblestone::layering
