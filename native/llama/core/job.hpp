// What a caller wants of a context, and what it gets. One kind of job serves them all: an ordinary prefill (no links), a chunk behind
// its prefix (the prefix linked or not, the chunk exported, maxTokens 0), a linked prompt with recomputed runs, teacher-forced logits
// (the answer among the tokens, logits wanted at its positions), and the answer itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan.hpp"
#include "sampler.hpp"

namespace precedent {

struct Job {
  std::vector<Token> tokens;
  std::vector<Link> links;        // with memory that lasts until the job is done
  std::vector<Range> recompute;   // covered tokens that are computed all the same
  std::vector<Range> exports;     // taken as chunk caches once the prompt is there
  std::vector<int> logitsAt;      // positions, ascending; they must be computed ones
  int maxTokens = 0;              // to be generated; 0: none
  Sampling sampling;
  std::vector<std::string> stops;
};

enum class Finish { none, stop, length };

struct Timings {  // milliseconds
  double queued = 0;     // until it was admitted
  double linked = 0;     // the link itself
  double prefilled = 0;  // from admission until all of the prompt was there
  double first = 0;      // from admission to the first token; 0 without one
  double total = 0;      // from admission
  double cpuFirst = 0;   // CPU time of the owner thread from admission to the first token (or the prompt's end)
  double exported = 0;   // spent on exports
};

struct JobResult {
  std::string text;
  std::vector<Token> generated;
  Finish finish = Finish::none;
  int linked = 0, recomputed = 0, prefilled = 0;  // tokens of the prompt
  int runs = 0;                                   // computed segments: each costs a decode at least
  std::vector<Bytes> blobs;   // in the order of exports
  std::vector<float> logits;  // one row of the vocabulary for each of logitsAt
  Timings timings;
};

// Called on the owner thread; must not throw and must be quick.
struct JobEvents {
  std::function<void(const std::string & text)> text = [](const std::string &) {};  // parts of the answer
  std::function<void(int computed)> progress = [](int) {};  // tokens computed since the last
  std::function<void(JobResult result)> done;
  std::function<void(const std::string & code, const std::string & message)> failed;
};

}  // namespace precedent
