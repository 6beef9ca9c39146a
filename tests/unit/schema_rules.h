// The rules by which schemas/*.proto may change (schemas/README.md, 'How a message may change'), as a
// comparison of two descriptor sets: that of the committed schema and that of the one just built.
#pragma once

#include <google/protobuf/descriptor.pb.h>

#include <string>
#include <vector>

namespace cobblestone {

// Every way in which `now` breaks what was promised by `committed`: one line each, naming message and field.
// Empty: every record and every line of text written under the one reads the same under the other, but for
// what the one lacks.
std::vector<std::string> BrokenPromises(const google::protobuf::FileDescriptorSet& committed,
                                        const google::protobuf::FileDescriptorSet& now);

// The set as it is committed: this project's files alone, in order of name, without what does not matter to a
// reader.
google::protobuf::FileDescriptorSet ForCommit(const google::protobuf::FileDescriptorSet& set);

// Text of a set for the file schemas/committed.textproto, and back; `problem` says why there is none.
std::string CommittedText(const google::protobuf::FileDescriptorSet& set);
bool ParseCommittedText(const std::string& text, google::protobuf::FileDescriptorSet* set,
                        std::string* problem);

}  // namespace cobblestone
