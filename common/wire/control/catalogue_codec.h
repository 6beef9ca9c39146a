// Applies catalogue events to credit::Catalogue. Every stage applies the same events in the same order, so
// all stages hold the same rows. The result depends only on the event and the catalogue.
#pragma once

#include <optional>

#include "common/credit/model/catalogue.h"
#include "common/wire/events/events.h"
#include "common/wire/ledger/refusal.h"

namespace cobblestone::wire {

// App, AppVersion, Settings and PlanClassFactor change the catalogue. ValidatorRestart, Tick,
// OpeningAppVersion and all other kinds do not, and give no refusal: their effects are elsewhere.
//
// App: replaces the row. Its policy version stays the same while kind and constants do; otherwise it becomes
// the event's, or the last version plus one if the event has none. Refused with
// DUPLICATE_WITH_OTHER_CONTENTS: a version that decreases, or an existing version with other contents, because
// old claims refer to their version by number.
// AppVersion: UNKNOWN_APP if the app is not in the catalogue; UNKNOWN_APP_VERSION for the deletion of an
// unknown version.
// A refusal leaves the catalogue unchanged. Requires an event that CheckEvent accepts.
std::optional<Refusal> ApplyCatalogueEvent(const Event& event, credit::Catalogue& catalogue);

// The constants of a policy of this kind with these changes applied.
credit::Constants ConstantsFrom(credit::PolicyKind kind, const ConstantChanges& changes);

}  // namespace cobblestone::wire
