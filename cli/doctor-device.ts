// Checks the configured devices of llama arms against the machine's devices.
import type { Config, LlamaArmConfig } from "../config/schema.ts";
import type { Device } from "../connections/llama/port.ts";
import type { Check } from "./doctor-check.ts";

export interface FoundDevices {
  devices: readonly Device[];
  /** Installed libraries of GPU backends. */
  libraries: readonly string[];
  /** The command that fetches this machine's backend. */
  remedy: string;
}

export const wantsGpu = (arm: LlamaArmConfig): boolean => arm.device.toLowerCase() !== "cpu";

/** One check for each llama arm that is not configured for the CPU. */
export function deviceChecks({ arms }: Pick<Config, "arms">, found: FoundDevices): Check[] {
  return arms.flatMap((arm) => (arm.type === "llama" && wantsGpu(arm) ? [deviceCheck(arm, found)] : []));
}

function deviceCheck({ name: arm, device }: LlamaArmConfig, { devices, libraries, remedy }: FoundDevices): Check {
  const name = `device of ${arm}`;
  const named = devices.find((one) => one.name.toLowerCase() === device.toLowerCase());
  const gpus = devices.filter(({ kind }) => ["gpu", "integrated", "software"].includes(kind));
  const usable = gpus.filter(({ kind }) => device !== "auto" || kind !== "software");
  const [first] = device === "auto" || device === "gpu" ? usable : named === undefined ? [] : [named];
  if (first !== undefined) return { name, state: "fine", detail: `${first.name} (${first.description})` };
  const all = devices.map((one) => one.name).join(", ");
  const what =
    libraries.length === 0
      ? "no backend of GPUs was fetched"
      : `${libraries.join(", ")} finds no such device: is the driver installed (vulkaninfo, nvidia-smi)?`;
  return {
    name,
    state: device === "auto" ? "lacking" : "missing",
    detail: `${device}: found ${all}; ${what}${device === "auto" ? "; the CPU is used" : ""}`,
    remedy: libraries.length === 0 ? remedy : "install the driver, or set device: cpu",
  };
}
