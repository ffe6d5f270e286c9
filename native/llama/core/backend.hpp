// ggml's backends: loaded once a process from the folder of the prebuilt libraries, which picks the CPU variant of this machine; those
// of GPUs are single libraries, loaded only for a model that asks for one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ggml-backend.h"

namespace precedent {

struct Device {
  std::string name;         // "CPU", "CUDA0"
  std::string description;  // of the chip
  std::string kind;         // "cpu", "gpu" (discrete), "integrated", "software" (a GPU's interface on the CPU), "accelerator"
  std::string id;           // of the hardware, the same by whichever backend it is reached; "": not known
  uint64_t totalBytes = 0, freeBytes = 0;
  ggml_backend_dev_t handle = nullptr;
};

// Loads what lies in the folder, on the first call only, and the libraries that are not loaded yet; the devices found. Throws
// model_failed when there is none. Thread-safe. An empty folder means that the backends are linked in.
std::vector<Device> loadBackends(const std::string & folder, const std::vector<std::string> & libraries = {});

// What a model is put on; empty: the CPU alone. `wanted`:
//   cpu   the CPU
//   auto  the first discrete GPU, else the first integrated one, else the CPU; never a software device
//   gpu   all discrete GPUs, else the first integrated one, else the first software device
//   NAME  this one, whatever the case of its letters
// Throws device_missing with the names of those found, and why a library did not load.
std::vector<Device> chooseDevices(const std::vector<Device> & found, const std::string & wanted);

// What llama.cpp logged last at level warning or error, and forgets it; "" when nothing. Thread-safe, one for the process.
std::string takeLog();

// ": what llama.cpp logged", or "".
std::string because();

}  // namespace precedent
