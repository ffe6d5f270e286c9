// A llama arm on a GPU: Mesa's software Vulkan, which shows the device llvmpipe on request. What it
// links, which device it takes and names, and how its processes end.
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { armRequest, aTurn } from "../../arms/request.testing.ts";
import { createLlamaArm, type LlamaArm } from "../../arms/llama/llama.ts";
import { armSchema } from "../../config/schema.ts";
import { gpuLibraryFile, llamaBackendsFolder, llamaCheckFile } from "../../connections/llama/library.ts";
import { createTinyModels, llamaIsBuilt, type TinyModels } from "../../connections/llama/models.testing.ts";
import { probeLlama } from "../../connections/llama/probe.ts";
import type { Piece } from "../../schemas/types.ts";

const library = llamaIsBuilt ? gpuLibraryFile("vulkan") : "";
const drivers = "/usr/share/vulkan/icd.d";
const absent = [
  !llamaIsBuilt && "no llama addon (npm run setup)",
  !existsSync(library) && "no Vulkan backend (npm run setup -- --gpu vulkan)",
  !(existsSync(drivers) && readdirSync(drivers).some((file) => file.startsWith("lvp_icd"))) &&
    "no software Vulkan (apt-get install mesa-vulkan-drivers libvulkan1)",
].filter((why) => why !== false);
const skipped = absent.length === 0 ? "" : ` (skipped: ${absent.join(", ")})`;

const turn = (kind: Piece["kind"], role: Piece["role"], text: string): Piece => ({ kind, id: null, role, text });
const pieces = [
  turn("system", "system", "Answer with one shell command, and with nothing else."),
  ...["list files", "show the date", "who am I"].flatMap((text) => [
    turn("example", "user", text),
    turn("example", "assistant", `the answer to: ${text}`),
  ]),
  aTurn("print the working directory"),
];
const never = (): AbortSignal => new AbortController().signal;

describe.skipIf(absent.length > 0)(`llama arm on software Vulkan${skipped}`, () => {
  let models: TinyModels;
  let folder: string;
  const arms: LlamaArm[] = [];
  beforeAll(async () => {
    models = await createTinyModels();
    folder = await mkdtemp(join(tmpdir(), "precedent-device-"));
    vi.stubEnv("GGML_VK_VISIBLE_DEVICES", "0");
  });
  afterEach(() => Promise.all(arms.splice(0).map((arm) => arm.close())));
  afterAll(async () => {
    vi.unstubAllEnvs();
    await models.remove();
    await rm(folder, { recursive: true });
  });

  /** With what it logged when its model was loaded. */
  async function open(more: object): Promise<{ arm: LlamaArm; loaded: Record<string, unknown> }> {
    const model = await models.file("tiny");
    const config = armSchema.parse({
      ...{ name: "small", type: "llama", model, contextTokens: 1024, maxTokens: 8, stallMs: 300_000 },
      linked: { build: "off", sampleShare: 0 },
      ...more,
    });
    if (config.type !== "llama") throw new Error("unreachable");
    const lines: Record<string, unknown>[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
    const arm = await createLlamaArm(config, { log, kvFolder: folder });
    arms.push(arm);
    return { arm, loaded: lines.find(({ msg }) => msg === "model loaded") ?? {} };
  }

  async function ask(arm: LlamaArm) {
    const request = { pieces, params: { maxTokens: 8, stop: [] }, deadline: Date.now() + 600_000 };
    const result = await arm.answer(armRequest(request), never());
    if (result.kind !== "answer") throw new Error(`${result.code}: ${result.message}`);
    return result;
  }

  it("answers on the device, says which, and links what it kept", async () => {
    const { arm, loaded } = await open({ device: "gpu" });
    expect(loaded["devices"]).toEqual([expect.stringMatching(/^Vulkan0 \(llvmpipe/)]);
    const [first, second] = [await ask(arm), await ask(arm)];
    expect(first.usage).toMatchObject({ linked: 0, prefilled: first.usage.prompt });
    expect(first.usage.completion).toBeGreaterThan(0);
    expect(second.usage.linked).toBeGreaterThan(first.usage.prompt / 4);
    await arm.close();
    expect(arms.splice(0)).toHaveLength(1);
    // A cache is found again by an arm of the same format, on whichever device; not by another.
    const byName = await open({ device: "vulkan0", gpuLayers: 1 });
    expect(byName.loaded["devices"]).toEqual([expect.stringMatching(/^Vulkan0 /), expect.stringMatching(/^CPU /)]);
    expect((await ask(byName.arm)).usage.linked).toBeGreaterThan(0);
    const otherLayout = await open({ device: "gpu", flashAttention: loaded["flashAttention"] === true ? "off" : "on" });
    expect((await ask(otherLayout.arm)).usage.linked).toBe(0);
  }, 600_000);

  it("does not take it for a GPU by itself", async () => {
    expect(await probeLlama([library])).toContainEqual(expect.objectContaining({ name: "Vulkan0", kind: "software" }));
    const { loaded } = await open({ device: "auto" });
    expect(loaded["devices"]).toEqual([expect.stringMatching(/^CPU /)]);
  }, 120_000);

  it("names the devices that it found where a named one is missing", async () => {
    await expect(open({ device: "CUDA7" })).rejects.toThrow(/no device CUDA7; found CPU .*Vulkan0 \(llvmpipe/);
  }, 120_000);

  it("fails where no device is shown and a GPU is asked for", async () => {
    vi.stubEnv("GGML_VK_VISIBLE_DEVICES", undefined);
    try {
      await expect(open({ device: "gpu" })).rejects.toThrow(/there is no GPU; found CPU/);
    } finally {
      vi.stubEnv("GGML_VK_VISIBLE_DEVICES", "0");
    }
  }, 120_000);

  it("ends cleanly, whatever it measured", async () => {
    const sizes = ["--lengths", "128", "--chunk", "32", "--flights", "1", "--repeats", "1", "--answer", "2"];
    const given = ["--backends", llamaBackendsFolder(), "--library", library, "--gpu", "--policies", "naive"];
    const { stdout } = await promisify(execFile)(llamaCheckFile, [
      ...["speed", await models.file("tiny"), ...given, ...sizes],
    ]);
    expect(stdout.trim().split("\n")).toHaveLength(5);
  }, 600_000);
});
