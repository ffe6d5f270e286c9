// llama-check: generates models and checks the core where there is no Node (README.md).
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../core/failure.hpp"
#include "equalities.hpp"
#include "generate.hpp"
#include "no-memory.hpp"
#include "speed.hpp"

using namespace precedent;

namespace {

int usage() {
  std::fprintf(stderr,
               "usage: llama-check generate SHAPE FILE [TYPE]     write a model with random weights; TYPE f32, f16 or q8_0\n"
               "       llama-check convert MODEL FILE TYPE        the same weights as another type\n"
               "       llama-check equalities MODEL [options]     check the equalities on this model\n"
               "       llama-check speed MODEL [options]          time to first token and throughput beside full prefill\n"
               "options: --backends FOLDER  --library FILE (of a GPU's backend)  --gpu  --device NAME  --threads N  --seed N\n"
               "         --trained (equalities on prompts of text, by divergence: for real weights)\n"
               "         --in-order (no scattered batches, where this program has them)\n"
               "         --cache TYPE (this one only)  --orders N (of the chunks, 1 to 6)  --rounds N (of the random walk)  --seconds N (its longest)\n"
               "         --lengths N,N  --flights N,N  --policies NAME,NAME  --answer N (0: no throughput)\n"
               "         --chunk N  --repeats N  --out FILE\n");
  return 2;
}

int typeOf(const std::string& name) {
  if (name == "f16") return GGML_TYPE_F16;
  if (name == "q8_0") return GGML_TYPE_Q8_0;
  if (name != "f32") fail("invalid_argument", "there is no type " + name);
  return GGML_TYPE_F32;
}

struct Given {
  ModelOptions model;
  EqualityOptions equalities;
  SpeedOptions speed;
  int cache = -1;  // ggml_type; -1: all
};

std::vector<std::string> namesOf(const std::string& text) {
  std::vector<std::string> names{""};
  for (const char character : text) {
    if (character == ',') names.emplace_back();
    else names.back() += character;
  }
  return names;
}

std::vector<int> numbersOf(const std::string& text) {
  std::vector<int> numbers;
  for (size_t at = 0; at < text.size(); at = text.find(',', at) == std::string::npos ? text.size() : text.find(',', at) + 1)
    numbers.push_back(std::atoi(text.c_str() + at));
  return numbers;
}

Given read(int count, char** given) {
  Given read;
  for (int i = 0; i < count; ++i) {
    const std::string option = given[i];
    if (option == "--gpu") {
      read.model.device = "gpu";
      continue;
    }
    if (option == "--in-order") {
      read.equalities.context.scattered = read.speed.context.scattered = false;
      continue;
    }
    if (option == "--trained") {
      read.equalities.trained = true;
      continue;
    }
    if (i + 1 == count) fail("invalid_argument", option + " needs a value");
    const char* value = given[++i];
    if (option == "--backends") read.model.backends = value;
    else if (option == "--library") read.model.libraries.push_back(value);
    else if (option == "--device") read.model.device = value;
    else if (option == "--threads") read.equalities.context.threads = read.speed.context.threads = std::atoi(value);
    else if (option == "--cache") read.cache = typeOf(value);
    else if (option == "--lengths") read.speed.lengths = numbersOf(value);
    else if (option == "--flights") read.speed.flights = numbersOf(value);
    else if (option == "--policies") read.speed.policies = namesOf(value);
    else if (option == "--answer") read.speed.answerTokens = std::atoi(value);
    else if (option == "--chunk") read.speed.chunkTokens = std::atoi(value);
    else if (option == "--repeats") read.speed.repeats = std::atoi(value);
    else if (option == "--out") read.speed.out = value;
    else if (option == "--orders") read.equalities.orders = std::atoi(value);
    else if (option == "--rounds") read.equalities.rounds = std::atoi(value);
    else if (option == "--seconds") read.equalities.seconds = std::atof(value);
    else if (option == "--seed") read.equalities.seed = read.speed.seed = std::strtoull(value, nullptr, 10);
    else fail("invalid_argument", "there is no option " + option);
  }
  return read;
}

int equalities(const std::string& path, Given given) {
  given.model.path = path;
  const std::shared_ptr<Model> model = Model::load(given.model);
  for (const std::string& device : model->facts().devices) std::printf("on %s\n", device.c_str());
  given.equalities.context.contextTokens = 1024;
  given.equalities.context.sequences = 2;
  int failed = 0;
  for (const bool flash : {false, true})
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q8_0}) {
      if ((given.cache >= 0 && given.cache != type) || (type == GGML_TYPE_Q8_0 && !flash)) continue;
      // llama.cpp's CUDA kernels for flash attention want float16.
      if (type == GGML_TYPE_F32 && flash && model->onGpu()) continue;
      std::printf("-- flash attention %s, cache %s\n", flash ? "on" : "off", ggml_type_name(type));
      given.equalities.context.flashAttention = flash;
      given.equalities.context.kvType = type;
      failed += checkEqualities(model, given.equalities);
    }
  given.equalities.context.flashAttention = false;
  if (given.equalities.rounds > 0) failed += checkRandomWalk(model, given.equalities);
  if (given.equalities.rounds > 0 && !model->onGpu() && !given.equalities.trained) failed += checkNoMemory(model, given.equalities);
  std::printf(failed == 0 ? "all hold\n" : "%d do not hold\n", failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** given) {
  try {
    if (count >= 4 && std::strcmp(given[1], "generate") == 0) {
      Shape shape = namedShape(given[2]);
      if (count > 4) shape.type = typeOf(given[4]);
      generateModel(shape, given[3]);
      return 0;
    }
    if (count >= 5 && std::strcmp(given[1], "convert") == 0) {
      loadBackends(read(count - 5, given + 5).model.backends);
      convertModel(given[2], given[3], typeOf(given[4]));
      return 0;
    }
    if (count >= 3 && std::strcmp(given[1], "equalities") == 0) return equalities(given[2], read(count - 3, given + 3));
    if (count >= 3 && std::strcmp(given[1], "speed") == 0) {
      Given wanted = read(count - 3, given + 3);
      wanted.model.path = given[2];
      if (wanted.cache >= 0) wanted.speed.context.kvType = static_cast<ggml_type>(wanted.cache);
      measureSpeed(Model::load(wanted.model), wanted.speed);
      return 0;
    }
    return usage();
  } catch (const Failure& failure) {
    std::fprintf(stderr, "%s: %s\n", failure.code.c_str(), failure.what());
    return 1;
  }
}
