// The rule banned-phrase: texts of the product have none of a short list of phrases. The texts are comments and messages of
// its C++ and schemas, all documents, configuration, deployment, examples, the description of the API and the web page.
#pragma once

#include <vector>

#include "tests/layering/rules.h"

namespace cobblestone::layering {

std::vector<Finding> BannedPhrases(const Tree& tree);

}  // namespace cobblestone::layering
