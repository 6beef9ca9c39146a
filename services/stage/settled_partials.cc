#include "services/stage/settled_partials.h"

#include <string>

#include "common/wire/control/topics.h"
#include "common/wire/ledger/grant_codec.h"

namespace cobblestone::stage {

using wire::EncodeGrant;
using wire::GrantKind;
using wire::kGrants;
using wire::OwnerPartition;

void EmitSettled(const PaidJob& job, const credit::SettledPartial& part, std::string_view reason,
                 std::uint32_t partitions, stream::Emitter& out) {
  const bool owed = part.taken > 0 && job.settlement == credit::TrickleSettlement::kCap;
  std::string bytes;
  EncodeGrant({.project = job.project,
               .user = part.user,
               .host = job.host,
               .app = job.app,
               .result = job.result,
               .credit_micro = -part.taken,
               .time = job.time,
               .kind = GrantKind::kReversal,
               .flags = credit::kGrantSettles | (owed ? credit::kGrantOwed : 0u),
               .settles_micro = part.settles,
               .recent_off = part.recent_off,
               .paid_time = part.paid_time},
              {.line = job.line}, {}, {}, &bytes, {.reason = reason});
  out.Emit(kGrants, OwnerPartition(job.project, part.user, job.host, partitions), bytes);
}

}  // namespace cobblestone::stage
