// What happens when there is no memory.
#pragma once

#include <memory>

#include "equalities.hpp"

namespace precedent {

// Jobs that link, recompute, export and generate, again and again, each time with another allocation that fails. All jobs must end
// once, and a job that comes afterwards must give what it gave before. Returns how many checks do not hold.
int checkNoMemory(const std::shared_ptr<Model> & model, const EqualityOptions & options);

}  // namespace precedent
