// Converts profiles and related messages (profiles.h) from and to generated code. Internal to this folder,
// for event_proto.cc.
#pragma once

#include "common/wire/events/events.h"
#include "schemas/events.pb.h"

namespace cobblestone::wire {

// The fields with presence that are set.
FieldMask PresentFields(const google::protobuf::Message& message);
// Clears all other fields.
void KeepPresent(FieldMask present, google::protobuf::Message* message);

OpeningFigures FromProto(const v1::OpeningFigures& m);
void ToProto(const OpeningFigures& in, v1::OpeningFigures* m);
UserProfile FromProto(const v1::UserProfile& m);
void ToProto(const UserProfile& in, v1::UserProfile* m);
HostProfile FromProto(const v1::HostProfile& m);
void ToProto(const HostProfile& in, v1::HostProfile* m);
TeamProfile FromProto(const v1::TeamProfile& m);
void ToProto(const TeamProfile& in, v1::TeamProfile* m);
AccountFacts FromProto(const v1::AccountFacts& m);
void ToProto(const AccountFacts& in, v1::AccountFacts* m);
ProjectProfile FromProto(const v1::ProjectProfile& m);
void ToProto(const ProjectProfile& in, v1::ProjectProfile* m);

}  // namespace cobblestone::wire
