// Which graph of a model runs here. Vectors of both may be compared: those of one text have a
// cosine of .998 (docs/measurements.md, Embedding). So both have one model name, and machines may
// differ.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** int8: weights and activations of 8 bits. */
export type Precision = "float32" | "int8";

export const graphFiles: Readonly<Record<Precision, string>> = { float32: "model.onnx", int8: "model.int8.onnx" };

/** int8 where the folder has that graph and the processor multiplies bytes by VNNI instructions. */
export function precisionFor(folder: string, processor: string = describeProcessor()): Precision {
  return hasVnni(processor) && existsSync(join(folder, graphFiles.int8)) ? "int8" : "float32";
}

/** From the text of /proc/cpuinfo. Without these instructions int8 is slower and less exact. */
const hasVnni = (processor: string): boolean => /^flags\s*:.*\s(avx512_vnni|avx_vnni)(\s|$)/m.test(processor);

/** Empty on other systems than Linux. */
function describeProcessor(): string {
  try {
    return readFileSync("/proc/cpuinfo", "utf8");
  } catch {
    return "";
  }
}
