import { expect, test } from "vitest";
import { gpuBackends, llamaBuild } from "../../connections/llama/library.ts";
import { gpuPackages } from "./gpu-backend.ts";

test("the packages of GPUs are of the release of the CPU's libraries", async () => {
  for (const [platform, packages] of Object.entries(await gpuPackages()))
    for (const backend of gpuBackends)
      expect(packages[backend]).toMatchObject({
        name: `@node-llama-cpp/${platform}-${backend}`,
        version: llamaBuild(),
        integrity: expect.stringMatching(/^sha512-/),
      });
});
