// The source tree as text: every file that the rules check, by its path from the root.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/layering/text.h"

namespace cobblestone::layering {

struct SourceFile {
  std::string text;
  std::string code;               // C++ only: CodeOnly(text)
  std::vector<Include> includes;  // C++ only
};

struct Tree {
  std::map<std::string, SourceFile> sources;  // .h .cc .proto, and other extensions of C++ (.cpp ...)
  std::map<std::string, std::vector<CMakeCall>> cmake;  // by folder; "" is the root
  std::map<std::string, std::string> readmes;           // by folder
  std::vector<std::string> scripts;                     // .sh and .py
  std::map<std::string, std::string> documents;         // .md, README.md too
  std::map<std::string, std::string> texts;             // other files that people read: see IsText in tree.cc
  std::set<std::string> paths;                          // every file and folder
};

// Reads all files under the root, except hidden folders and `build`. Throws if a file cannot be read.
Tree ReadTree(const std::filesystem::path& root);

// "common/credit" for "common/credit/average.h"; "" for a file in the root.
std::string FolderOf(std::string_view path);

// True if the path is the folder itself or below it.
bool IsWithin(std::string_view path, std::string_view folder);

}  // namespace cobblestone::layering
