#include "backend.hpp"

#include <mutex>

#include "assertions.hpp"
#include "failure.hpp"
#include "llama.h"

namespace precedent {

namespace {

std::mutex logMutex;
std::string logged;

void keepLog(ggml_log_level level, const char * text, void *) {
  if (level != GGML_LOG_LEVEL_ERROR && level != GGML_LOG_LEVEL_WARN) return;
  std::lock_guard<std::mutex> lock(logMutex);
  // The last lines say most; llama.cpp may log a lot before it gives up.
  if (logged.size() > 600) logged.erase(0, logged.size() - 300);
  try {
    logged += text;
  } catch (...) {
    // Called from within llama.cpp, which is no place to throw through.
    logged.clear();
  }
}

std::vector<Device> findDevices() {
  std::vector<Device> devices;
  for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t handle = ggml_backend_dev_get(i);
    ggml_backend_dev_props properties;
    ggml_backend_dev_get_props(handle, &properties);
    Device device;
    device.name = properties.name != nullptr ? properties.name : "";
    device.description = properties.description != nullptr ? properties.description : "";
    const auto type = ggml_backend_dev_type(handle);
    device.kind = type == GGML_BACKEND_DEVICE_TYPE_CPU                                                ? "cpu"
            : type == GGML_BACKEND_DEVICE_TYPE_GPU || type == GGML_BACKEND_DEVICE_TYPE_IGPU ? "gpu"
                                                      : "accelerator";
    device.totalBytes = properties.memory_total;
    device.freeBytes = properties.memory_free;
    device.handle = handle;
    devices.push_back(device);
  }
  return devices;
}

}  // namespace

const std::vector<Device> & loadBackends(const std::string & folder) {
  static std::mutex mutex;
  static std::vector<Device> devices;
  std::lock_guard<std::mutex> lock(mutex);
  if (!devices.empty()) return devices;
  llama_log_set(keepLog, nullptr);
  watchAssertions();
  if (folder.empty())
    ggml_backend_load_all();
  else
    ggml_backend_load_all_from_path(folder.c_str());
  devices = findDevices();
  if (devices.empty()) fail("model_failed", "no backend of llama.cpp could be loaded from " + folder + because());
  llama_backend_init();
  return devices;
}

std::string takeLog() {
  std::lock_guard<std::mutex> lock(logMutex);
  std::string all;
  all.swap(logged);
  while (!all.empty() && (all.back() == '\n' || all.back() == ' ')) all.pop_back();
  for (char & character : all)
    if (character == '\n') character = ' ';
  return all;
}

std::string because() {
  const std::string log = takeLog();
  return log.empty() ? "" : ": " + log;
}

}  // namespace precedent
