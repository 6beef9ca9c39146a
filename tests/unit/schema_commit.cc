// schema_commit BUILT COMMITTED: commits the schema just built (a binary descriptor set) as text, if the schema
// keeps every promise of the schema committed before. The target commit_schema runs this program.
#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/unit/schema_rules.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: schema_commit BUILT COMMITTED\n";
    return 2;
  }
  std::ifstream built_file(argv[1], std::ios::binary);
  google::protobuf::FileDescriptorSet built;
  if (!built.ParseFromIstream(&built_file)) {
    std::cerr << argv[1] << ": not a descriptor set; build the target cobblestone_schemas first\n";
    return 1;
  }
  std::ifstream committed_file(argv[2]);
  if (committed_file) {
    std::stringstream text;
    text << committed_file.rdbuf();
    google::protobuf::FileDescriptorSet committed;
    std::string problem;
    if (!cobblestone::ParseCommittedText(text.str(), &committed, &problem)) {
      std::cerr << argv[2] << ": " << problem << "\n";
      return 1;
    }
    const auto broken = cobblestone::BrokenPromises(committed, built);
    for (const std::string& promise : broken) std::cerr << promise << "\n";
    if (!broken.empty()) {
      std::cerr
          << "Not committed: existing records would be read incorrectly. Undo the change and add a field instead.\n";
      return 1;
    }
  }
  std::ofstream out(argv[2]);
  out << cobblestone::CommittedText(cobblestone::ForCommit(built));
  return out.flush() ? 0 : 1;
}
