// The rules for changes to schemas/*.proto (schemas/README.md, 'How a message may change'), as a comparison of two
// descriptor sets: of the committed schema and of the schema just built.
#pragma once

#include <google/protobuf/descriptor.pb.h>

#include <string>
#include <vector>

namespace cobblestone {

// Every promise of `committed` that `now` breaks: one line each, with message and field. Empty: every record and
// every line of text written under one schema is read equally under the other, except for fields that a schema
// lacks.
std::vector<std::string> BrokenPromises(const google::protobuf::FileDescriptorSet& committed,
                                        const google::protobuf::FileDescriptorSet& now);

// The committed form of a set: only this project's files, in order of name, without details that do not matter to
// a reader.
google::protobuf::FileDescriptorSet ForCommit(const google::protobuf::FileDescriptorSet& set);

// Converts a set to the text of schemas/committed.textproto, and back. After a failure `problem` is the reason.
std::string CommittedText(const google::protobuf::FileDescriptorSet& set);
bool ParseCommittedText(const std::string& text, google::protobuf::FileDescriptorSet* set,
                        std::string* problem);

}  // namespace cobblestone
