#include "checked-plan.hpp"

#include "failure.hpp"

namespace precedent {

namespace {

constexpr size_t mostLogits = 4096;
constexpr int64_t mostExported = 16;  // times the cells of the context

}  // namespace

Plan checkedPlan(const Job & job, const Context & context) {
  context.model().checkTokens(job.tokens);
  require(job.maxTokens >= 0, "maxTokens must not be negative");
  require(job.logitsAt.size() <= mostLogits, "logits of at most 4096 positions at a time");
  require(job.tokens.size() <= static_cast<size_t>(context.cells()),
          std::to_string(job.tokens.size()) + " tokens don't fit into " + std::to_string(context.cells()), "context_full");
  const int count = static_cast<int>(job.tokens.size());
  require(job.recompute.size() <= job.tokens.size(), "there are more ranges to recompute than tokens");
  if (count + static_cast<int64_t>(job.maxTokens) > context.cells())
    fail("context_full", std::to_string(count) + " tokens and up to " + std::to_string(job.maxTokens) + " generated ones don't fit into " +
                 std::to_string(context.cells()));
  if (count + static_cast<int64_t>(job.maxTokens) > context.model().facts().mostPositions)
    fail("context_full", "the model has " + std::to_string(context.model().facts().mostPositions) + " positions");
  if (!job.links.empty() || !job.exports.empty()) context.requireLinkable();
  for (const Link & link : job.links) link.blob.check(context.format());
  const Plan plan = makePlan(job.tokens, job.links, job.recompute, job.maxTokens > 0);
  int64_t exported = 0;
  for (const Range & range : job.exports) {
    require(range.begin >= 0 && range.begin < range.end && range.end <= count, "a range to be exported lies outside the prompt");
    exported += range.end - range.begin;
  }
  require(exported <= mostExported * context.cells(), "more is to be exported than 16 times the context");
  int last = -1;
  size_t segment = 0;
  for (const int position : job.logitsAt) {
    require(position > last && position < count, "logitsAt must be ascending positions of the prompt");
    while (plan.segments[segment].end <= position) ++segment;
    require(plan.segments[segment].link < 0, "logits of position " + std::to_string(position) + " are wanted, but it is linked: recompute it");
    last = position;
  }
  return plan;
}

}  // namespace precedent
