#include "speed.hpp"

#include <chrono>
#include <cstdarg>

#include "checks.hpp"
#include "run-job.hpp"

namespace precedent {

namespace {

constexpr int questionTokens = 64;

struct Policy {
  std::string name;
  int last;      // chunks that are prefilled with the question
  int boundary;  // tokens recomputed at each boundary, half before and half after it
  bool full;
};

const std::vector<Policy> policies{{"full", 0, 0, true},      {"naive", 0, 0, false},       {"last-1", 1, 0, false},
                                   {"last-2", 2, 0, false},   {"attnlink-4", 0, 4, false},  {"attnlink-16", 0, 16, false}, {"attnlink-64", 0, 64, false}};

struct Prompt {
  std::vector<Token> tokens;
  std::vector<Bytes> caches;  // of the chunks, all but the question
  int chunkTokens;
};

Prompt makePrompt(std::mt19937_64& random, Scheduler& scheduler, const Model& model, int length, int chunkTokens) {
  Prompt prompt;
  prompt.chunkTokens = chunkTokens;
  for (int chunks = (length - questionTokens) / chunkTokens; chunks > 0; --chunks) {
    Job job;
    job.tokens = randomTokens(random, model, chunkTokens);
    job.exports = {{0, chunkTokens}};
    prompt.caches.push_back(std::move(runJob(scheduler, job).blobs[0]));
    prompt.tokens = joined({prompt.tokens, job.tokens});
  }
  prompt.tokens = joined({prompt.tokens, randomTokens(random, model, questionTokens)});
  return prompt;
}

Job jobOf(const Prompt& prompt, const Policy& policy, int maxTokens) {
  Job job;
  job.tokens = prompt.tokens;
  job.maxTokens = maxTokens;
  if (policy.full) return job;
  const int linked = std::max(0, static_cast<int>(prompt.caches.size()) - policy.last);
  for (int i = 0; i < linked; ++i) {
    job.links.push_back({viewOf(prompt.caches[static_cast<size_t>(i)]), i * prompt.chunkTokens});
    if (i > 0 && policy.boundary > 0)
      job.recompute.push_back({i * prompt.chunkTokens - policy.boundary / 2, i * prompt.chunkTokens + policy.boundary / 2});
  }
  return job;
}

class Report {
 public:
  explicit Report(const std::string& path) : file_(path.empty() ? nullptr : std::fopen(path.c_str(), "w")) {
    if (!path.empty() && file_ == nullptr) fail("invalid_argument", path + " can't be written");
  }
  ~Report() {
    if (file_ != nullptr) std::fclose(file_);
  }
  __attribute__((format(printf, 2, 3))) void line(const char* format, ...) {
    char text[1024];
    va_list values;
    va_start(values, format);
    std::vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    std::printf("%s\n", text);
    std::fflush(stdout);
    if (file_ != nullptr) std::fprintf(file_, "%s\n", text);
  }

 private:
  FILE* file_;
};

// Seconds until all of `count` requests are answered.
double serve(Scheduler& scheduler, const Job& job, int count) {
  const auto start = std::chrono::steady_clock::now();
  int failed = 0;
  for (int i = 0; i < count; ++i) {
    JobEvents events;
    events.done = [](JobResult) {};
    events.failed = [&failed](const std::string&, const std::string&) { ++failed; };
    scheduler.submit(static_cast<uint64_t>(i) + 1, job, std::make_shared<const JobEvents>(events));
  }
  while (scheduler.step()) {
  }
  if (failed > 0) fail("decode_failed", std::to_string(failed) + " requests failed");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

void measureSpeed(const std::shared_ptr<Model>& model, const SpeedOptions& options) {
  Report report(options.out);
  std::mt19937_64 random(options.seed);
  std::string devices;
  for (const std::string& device : model->facts().devices) devices += (devices.empty() ? "" : ", ") + device;
  report.line("{\"model\": \"%s\", \"description\": \"%s\", \"devices\": \"%s\", \"threads\": %d}", model->facts().name.c_str(),
              model->facts().description.c_str(), devices.c_str(), options.context.threads);
  for (const int length : options.lengths)
    for (const int flight : options.flights) {
      ContextOptions contextOptions = options.context;
      contextOptions.sequences = flight;
      contextOptions.contextTokens = flight * (length + options.answerTokens + 1);
      Context context(model, contextOptions);
      Scheduler scheduler(context, {std::min(512, context.options().batchTokens), 1024});
      const Prompt prompt = makePrompt(random, scheduler, *model, length, options.chunkTokens);
      double fullFirst = 0, fullRate = 0;
      for (const Policy& policy : policies) {
        const std::vector<std::string>& only = options.policies;
        if (!policy.full && !only.empty() && std::find(only.begin(), only.end(), policy.name) == only.end()) continue;
        std::vector<Timings> timings;
        JobResult result;
        for (int i = 0; flight == options.flights.front() && i < options.repeats; ++i) {
          result = runJob(scheduler, jobOf(prompt, policy, 1));
          timings.push_back(result.timings);
        }
        if (!timings.empty()) {
          std::sort(timings.begin(), timings.end(), [](const Timings& one, const Timings& other) { return one.first < other.first; });
          const Timings& median = timings[timings.size() / 2];
          if (policy.full) fullFirst = median.first;
          report.line("{\"measure\": \"ttft\", \"tokens\": %zu, \"chunk\": %d, \"policy\": \"%s\", \"scattered\": %s, \"computed\": %d, \"runs\": %d, \"ms\": %.2f, "
                      "\"cpuMs\": %.2f, \"linkMs\": %.2f, \"speedUp\": %.2f}",
                      prompt.tokens.size(), options.chunkTokens, policy.name.c_str(), context.scattered() ? "true" : "false", result.recomputed + result.prefilled, result.runs,
                      median.first, median.cpuFirst, median.linked, fullFirst / median.first);
        }
        if (options.answerTokens == 0) continue;
        const int count = std::max(2, 2 * flight);
        const double seconds = serve(scheduler, jobOf(prompt, policy, options.answerTokens), count);
        if (policy.full) fullRate = count / seconds;
        report.line("{\"measure\": \"throughput\", \"tokens\": %zu, \"chunk\": %d, \"policy\": \"%s\", \"inFlight\": %d, \"requests\": %d, "
                    "\"perSecond\": %.3f, \"speedUp\": %.2f}",
                    prompt.tokens.size(), options.chunkTokens, policy.name.c_str(), flight, count, count / seconds, count / seconds / fullRate);
      }
    }
}

}  // namespace precedent
