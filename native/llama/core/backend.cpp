#include "backend.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
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

// Mesa's llvmpipe and SwiftShader call themselves so; ggml takes them for discrete GPUs.
bool isSoftware(const std::string & description) {
  return description.find("llvmpipe") != std::string::npos || description.find("SwiftShader") != std::string::npos;
}

std::string kindOf(const Device & device) {
  switch (ggml_backend_dev_type(device.handle)) {
    case GGML_BACKEND_DEVICE_TYPE_CPU: return "cpu";
    case GGML_BACKEND_DEVICE_TYPE_GPU: return isSoftware(device.description) ? "software" : "gpu";
    case GGML_BACKEND_DEVICE_TYPE_IGPU: return "integrated";
    default: return "accelerator";
  }
}

std::vector<Device> findDevices() {
  std::vector<Device> devices;
  for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    Device device;
    device.handle = ggml_backend_dev_get(i);
    ggml_backend_dev_props properties;
    ggml_backend_dev_get_props(device.handle, &properties);
    const auto text = [](const char * given) { return std::string(given == nullptr ? "" : given); };
    device.name = text(properties.name);
    device.description = text(properties.description);
    device.id = text(properties.device_id);
    device.kind = kindOf(device);
    device.totalBytes = properties.memory_total;
    device.freeBytes = properties.memory_free;
    devices.push_back(device);
  }
  return devices;
}

std::mutex loading;
std::map<std::string, std::string> libraries;  // by path: why it did not load, or ""

// ggml says nothing of a library that does not load.
void loadLibrary(const std::string & path) {
  void * handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    libraries[path] = dlerror();
    return;
  }
  libraries[path] = ggml_backend_load(path.c_str()) == nullptr ? path + " finds no device" + because() : "";
  dlclose(handle);
}

bool sameName(const std::string & one, const std::string & other) {
  return one.size() == other.size() && std::equal(one.begin(), one.end(), other.begin(), [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  });
}

}  // namespace

std::vector<Device> loadBackends(const std::string & folder, const std::vector<std::string> & more) {
  std::lock_guard<std::mutex> lock(loading);
  static std::vector<Device> devices;
  const bool first = devices.empty();
  if (first) {
    llama_log_set(keepLog, nullptr);
    watchAssertions();
    if (folder.empty())
      ggml_backend_load_all();
    else
      ggml_backend_load_all_from_path(folder.c_str());
  }
  for (const std::string & library : more)
    if (libraries.count(library) == 0) loadLibrary(library);
  devices = findDevices();
  if (devices.empty()) fail("model_failed", "no backend of llama.cpp could be loaded from " + folder + because());
  // Mesa's driver (22.3) crashes on fused kernels. Read when the device is first used.
  for (const Device & device : devices)
    if (device.kind == "software") setenv("GGML_VK_DISABLE_FUSION", "1", 0);
  if (first) llama_backend_init();
  return devices;
}

std::vector<Device> chooseDevices(const std::vector<Device> & found, const std::string & wanted) {
  std::vector<Device> chosen;
  // One card may be seen by two backends.
  const auto add = [&](const char * kind, size_t most) {
    for (const Device & device : found) {
      const bool twice = std::any_of(chosen.begin(), chosen.end(), [&](const Device & other) { return !device.id.empty() && other.id == device.id; });
      if (device.kind == kind && !twice && chosen.size() < most) chosen.push_back(device);
    }
  };
  if (wanted == "cpu") return {};
  const bool any = wanted == "auto", gpu = wanted == "gpu";
  if (any || gpu) {
    add("gpu", any ? 1 : found.size());
    if (chosen.empty()) add("integrated", 1);
    if (chosen.empty() && gpu) add("software", 1);
    if (!chosen.empty() || any) return chosen;
  }
  std::string names;
  for (const Device & device : found) {
    if (!gpu && sameName(device.name, wanted)) return device.kind == "cpu" ? chosen : std::vector<Device>{device};
    names += (names.empty() ? "" : ", ") + device.name + " (" + device.description + ")";
  }
  std::string reasons;
  {
    std::lock_guard<std::mutex> lock(loading);
    for (const auto & [path, reason] : libraries) reasons += reason.empty() ? "" : "; " + reason;
  }
  fail("device_missing", (gpu ? std::string("there is no GPU") : "there is no device " + wanted) + "; found " + names + reasons);
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
