import { describe, expect, it } from "vitest";
import { configSchema } from "../config/schema.ts";
import type { Device } from "../connections/llama/port.ts";
import { deviceChecks } from "./doctor-device.ts";

const device = (name: string, kind: Device["kind"]): Device => ({
  ...{ name, kind, description: `a ${kind}`, totalBytes: 0, freeBytes: 0 },
});
const cpu = device("CPU", "cpu");

function check(wanted: string, devices: Device[], libraries: string[] = ["/x/libggml-vulkan.so"]) {
  const { arms } = configSchema.parse({ arms: [{ name: "a", type: "llama", device: wanted }] });
  return deviceChecks({ arms }, { devices, libraries, remedy: "npm run setup -- --gpu vulkan" });
}

describe("devices of llama arms", () => {
  it("says nothing of arms on the CPU, however that is written", () => {
    expect(check("cpu", [cpu])).toEqual([]);
    expect(check("CPU", [cpu])).toEqual([]);
  });

  it("finds discrete, integrated and named ones", () => {
    for (const kind of ["gpu", "integrated"] as const)
      for (const wanted of ["auto", "gpu", "vulkan0", "Vulkan0"])
        expect(check(wanted, [cpu, device("Vulkan0", kind)])).toMatchObject([
          { name: "device of a", state: "fine", detail: `Vulkan0 (a ${kind})` },
        ]);
  });

  it("takes a software device where it is asked for, and not for auto", () => {
    const found = [cpu, device("Vulkan0", "software")];
    expect(check("gpu", found)).toMatchObject([{ state: "fine" }]);
    expect(check("auto", found)).toMatchObject([{ state: "lacking", detail: expect.stringContaining("CPU is used") }]);
  });

  it("names the command where no backend was fetched, and the driver where one was", () => {
    expect(check("gpu", [cpu], [])).toMatchObject([{ state: "missing", remedy: "npm run setup -- --gpu vulkan" }]);
    expect(check("auto", [cpu], [])).toMatchObject([{ state: "lacking", remedy: "npm run setup -- --gpu vulkan" }]);
    expect(check("CUDA1", [cpu])).toMatchObject([
      { state: "missing", detail: expect.stringContaining("found CPU"), remedy: expect.stringContaining("driver") },
    ]);
  });
});
