// One job at a time on a context, as a call.
#pragma once

#include "../core/failure.hpp"
#include "../core/scheduler.hpp"

namespace precedent {

// Throws the Failure that the job ended with.
inline JobResult runJob(Scheduler& scheduler, const Job& job) {
  JobResult result;
  std::string code, message;
  JobEvents events;
  events.done = [&](JobResult given) { result = std::move(given); };
  events.failed = [&](const std::string& failedCode, const std::string& failedMessage) {
    code = failedCode;
    message = failedMessage;
  };
  scheduler.submit(1, job, std::make_shared<const JobEvents>(std::move(events)));
  while (scheduler.step()) {
  }
  if (!code.empty()) fail(code.c_str(), message);
  return result;
}

inline BlobView viewOf(const Bytes& blob) { return BlobView(blob.data.get(), blob.size); }

}  // namespace precedent
