// Catalogue events as changes of credit::Catalogue. Every stage applies the same events in the same order, so
// all hold the same rows; nothing here depends on anything but the event and the catalogue.
#pragma once

#include <optional>

#include "common/credit/model/catalogue.h"
#include "common/wire/events/events.h"
#include "common/wire/ledger/refusal.h"

namespace cobblestone::wire {

// App, AppVersion, Settings and PlanClassFactor change the catalogue. ValidatorRestart, Tick,
// OpeningAppVersion and every other kind leave it alone (none is returned for them too): what they drive is
// not in it.
//
// App: replaces the row. Its policy version stays as it is while kind and constants are the same; otherwise
// it becomes the event's, or one more than the last where the event names none. Refused: a version that goes
// back, or that names other contents than before (DUPLICATE_WITH_OTHER_CONTENTS), because old claims name
// theirs by its number.
// AppVersion: of an app that is not in the catalogue: UNKNOWN_APP; deletion of one that is not:
// UNKNOWN_APP_VERSION.
// On a refusal the catalogue is as it was. Needs an event that CheckEvent lets through.
std::optional<Refusal> ApplyCatalogueEvent(const Event& event, credit::Catalogue& catalogue);

// The constants of a policy of this kind with these changes.
credit::Constants ConstantsFrom(credit::PolicyKind kind, const ConstantChanges& changes);

}  // namespace cobblestone::wire
