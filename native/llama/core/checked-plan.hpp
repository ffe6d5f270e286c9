// Whether a job can be done at all, before it waits for its turn.
#pragma once

#include "context.hpp"
#include "job.hpp"
#include "plan.hpp"

namespace precedent {

// Throws invalid_argument, context_full, model_unsupported, blob_foreign.
Plan checkedPlan(const Job & job, const Context & context);

}  // namespace precedent
