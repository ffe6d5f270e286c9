// requantise BACKENDS IN OUT: writes the GGUF model IN as Q8_0 to OUT through llama.cpp, then loads what it wrote, checking every tensor.
// Run once, by set-up. Exit status 0: OUT is whole.
#include <cstdio>

#include "ggml-backend.h"
#include "llama.h"

int main(int count, char ** given) {
    if (count != 4) {
        std::fprintf(stderr, "usage: requantise BACKENDS IN OUT\n");
        return 2;
    }
    ggml_backend_load_all_from_path(given[1]);
    if (ggml_backend_dev_count() == 0) {
        std::fprintf(stderr, "no backend of llama.cpp could be loaded from %s\n", given[1]);
        return 1;
    }
    llama_log_set(
        [](ggml_log_level level, const char * text, void *) {
            if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
        },
        nullptr);

    llama_model_quantize_params how = llama_model_quantize_default_params();
    how.ftype = LLAMA_FTYPE_MOSTLY_Q8_0;
    how.allow_requantize = true;
    if (llama_model_quantize(given[2], given[3], &how) != 0) {
        std::fprintf(stderr, "%s could not be requantised\n", given[2]);
        return 1;
    }

    llama_model_params check = llama_model_default_params();
    check.check_tensors = true;
    llama_model * model = llama_model_load_from_file(given[3], check);
    if (model == nullptr) {
        std::fprintf(stderr, "%s does not load\n", given[3]);
        return 1;
    }
    llama_model_free(model);
    return 0;
}
