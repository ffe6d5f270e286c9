// ggml's backends: loaded once a process from the folder of the prebuilt libraries, which picks the CPU variant of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ggml-backend.h"

namespace precedent {

struct Device {
  std::string name;         // "CPU", "CUDA0"
  std::string description;  // of the chip
  std::string kind;         // "cpu", "gpu", "accelerator"
  uint64_t totalBytes = 0, freeBytes = 0;
  ggml_backend_dev_t handle = nullptr;
};

// Loads what lies in the folder, on the first call only; the devices found. Throws model_failed when there is none.
// Thread-safe. An empty folder means that the backends are linked in.
const std::vector<Device> & loadBackends(const std::string & folder);

// What llama.cpp logged last at level warning or error, and forgets it; "" when nothing. Thread-safe, one for the process.
std::string takeLog();

// ": what llama.cpp logged", or "".
std::string because();

}  // namespace precedent
