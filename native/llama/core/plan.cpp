#include "plan.hpp"

#include <string>

#include "failure.hpp"

namespace precedent {

Plan makePlan(const std::vector<Token> & tokens, const std::vector<Link> & links, const std::vector<Range> & recompute, bool last) {
  require(links.size() <= tokens.size(), "there are more chunk caches than tokens");
  const int count = static_cast<int>(tokens.size());
  require(count > 0, "a prompt has at least one token");
  std::vector<int> link(tokens.size(), -1);
  for (size_t i = 0; i < links.size(); ++i) {
    const int position = links[i].position, size = links[i].blob.tokens();
    require(position >= 0 && size <= count - position, "chunk cache " + std::to_string(i) + " lies outside the prompt");
    for (int j = 0; j < size; ++j) {
      const size_t at = static_cast<size_t>(position + j);
      require(link[at] < 0, "two chunk caches cover position " + std::to_string(at));
      require(links[i].blob.token(j) == tokens[at], "chunk cache " + std::to_string(i) + " holds another token than the prompt at position " + std::to_string(at));
      link[at] = static_cast<int>(i);
    }
  }
  Plan plan;
  const auto compute = [&](int position) {
    int & source = link[static_cast<size_t>(position)];
    if (source >= 0) ++plan.recomputed;
    source = -1;
  };
  for (const Range & range : recompute) {
    require(range.begin >= 0 && range.begin <= range.end && range.end <= count,
        "there is no range " + std::to_string(range.begin) + " to " + std::to_string(range.end) + " in " + std::to_string(count) + " tokens");
    for (int position = range.begin; position < range.end; ++position) compute(position);
  }
  if (last) compute(count - 1);

  int computed = 0;
  for (int position = 0; position < count; ++position) {
    const int source = link[static_cast<size_t>(position)];
    (source >= 0 ? plan.linked : computed) += 1;
    if (!plan.segments.empty() && plan.segments.back().link == source)
      plan.segments.back().end = position + 1;
    else
      plan.segments.push_back({position, position + 1, source});
  }
  plan.prefilled = computed - plan.recomputed;
  return plan;
}

}  // namespace precedent
