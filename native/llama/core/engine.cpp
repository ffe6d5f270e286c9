#include "engine.hpp"

#include "failure.hpp"

namespace precedent {

Engine::Engine(std::shared_ptr<Model> model, const ContextOptions & context, const SchedulerOptions & scheduler) {
  thread_ = std::thread([this, model, context, scheduler] { run(model, context, scheduler); });
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return started_; });
  if (failure_ == nullptr) return;
  lock.unlock();
  close();
  fail(failure_->first.c_str(), failure_->second);
}

void Engine::close() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  std::lock_guard<std::mutex> joining(joining_);
  if (thread_.joinable()) thread_.join();
}

void Engine::submit(uint64_t id, Job job, JobEvents events) {
  // std::function wants something that can be copied; the job is moved out on the one call.
  const auto given = std::make_shared<Job>(std::move(job));
  const auto shared = std::make_shared<const JobEvents>(std::move(events));
  if (!post([id, given, shared](Scheduler & scheduler) { scheduler.submit(id, std::move(*given), shared); }))
    shared->failed("closed", "the context was closed");
}

void Engine::cancel(uint64_t id) {
  post([id](Scheduler & scheduler) { scheduler.cancel(id); });
}

bool Engine::post(Command command) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closing_) return false;
    commands_.push_back(std::move(command));
  }
  changed_.notify_all();
  return true;
}

void Engine::run(std::shared_ptr<Model> model, ContextOptions contextOptions, SchedulerOptions schedulerOptions) {
  std::unique_ptr<Context> context;
  std::unique_ptr<Scheduler> scheduler;
  const auto started = [this](const char * code, const std::string & message) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (code != nullptr) failure_ = std::make_unique<std::pair<std::string, std::string>>(code, message);
    started_ = true;
    changed_.notify_all();
  };
  try {
    context = std::make_unique<Context>(std::move(model), contextOptions);
    scheduler = std::make_unique<Scheduler>(*context, schedulerOptions);
    format_ = context->format();
    cells_ = context->cells();
    unlinkable_ = context->unlinkable();
    scattered_ = context->scattered();
  } catch (...) {
    const Failure failure = caught("context_failed");
    return started(failure.code.c_str(), failure.what());
  }
  started(nullptr, "");
  try {
    serve(*scheduler);
  } catch (...) {
    // No memory, even to say so. The scheduler fails what is left, and later jobs fail where they are submitted.
    std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
}

void Engine::serve(Scheduler & scheduler) {
  while (true) {
    std::vector<Command> commands;
    bool closing = false;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return closing_ || !commands_.empty() || !scheduler.idle(); });
      commands.swap(commands_);
      closing = closing_;
    }
    for (const Command & command : commands) command(scheduler);
    if (closing) return;
    scheduler.step();
  }
}

}  // namespace precedent
