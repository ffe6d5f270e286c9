import { expect, test } from "vitest";
import { refuseSoftware } from "./measure-plan.ts";

test("software devices give no figures; CPUs and GPUs do", () => {
  for (const name of ["Vulkan0 (llvmpipe (LLVM 15.0.6, 256 bits))", "Vulkan1 (SwiftShader Device)"])
    expect(() => refuseSoftware(["CPU (AMD EPYC)", name])).toThrow(/no figure of it is recorded/);
  refuseSoftware(["CPU (AMD EPYC)"]);
  refuseSoftware(["CUDA0 (NVIDIA H100)", "CPU (Intel)"]);
});
