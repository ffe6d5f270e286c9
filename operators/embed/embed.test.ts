import { pino } from "pino";
import { expect, test } from "vitest";
import { createHashEmbedder } from "../../connections/embedder/hash.testing.ts";
import { EmbedderError, type Embedder } from "../../connections/embedder/port.ts";
import type { StepContext } from "../../runtime/step.ts";
import { arm, lookedUp } from "../select/fixtures.testing.ts";
import { createEmbed as createWhole, type EmbedDependencies } from "./embed.ts";
import type { NeededDependencies } from "./needed.ts";

/** The vector chooses between two arms. */
const needed: NeededDependencies = {
  arms: () => [arm("small"), arm("large")],
  pool: { holds: () => false },
  selection: { examples: 5 },
};
const createEmbed = (over: Omit<EmbedDependencies, keyof NeededDependencies>) => createWhole({ ...needed, ...over });
const context = (over: Partial<StepContext> = {}): StepContext => ({
  signal: new AbortController().signal,
  log: pino({ level: "silent" }),
  deadline: Date.now() + 60_000,
  timings: [],
  ...over,
});
const failing = (error: Error): Pick<Embedder, "embed"> => ({ embed: () => Promise.reject(error) });
const hanging: Pick<Embedder, "embed"> = {
  embed: (_, signal) =>
    new Promise((_resolve, reject) => {
      if (signal?.aborted === true) reject(signal.reason as Error);
      signal?.addEventListener("abort", () => reject(signal.reason as Error));
    }),
};
const degradedBy = (reason: string) => ({ kind: "ok", value: { embedding: null, degraded: ["cache", reason] } });

test("adds the vector of the question and keeps everything else", async () => {
  const embedder = createHashEmbedder();
  const input = lookedUp({ question: "how big is this folder" });
  expect(await createEmbed({ embedder })(input, context())).toEqual({
    kind: "ok",
    value: { ...input, embedding: await embedder.embed("how big is this folder") },
  });
});

test.each([
  ["embedder_unavailable", "embedder"],
  ["not_finite", "embedder"],
  ["embedder_busy", "embedder_busy"],
] as const)("%s: goes on without a vector, and says so", async (code, reason) => {
  const input = lookedUp({ degraded: ["cache"] });
  const outcome = await createEmbed({ embedder: failing(new EmbedderError(code, "x")) })(input, context());
  expect(outcome).toMatchObject(degradedBy(reason));
  expect(input.degraded).toEqual(["cache"]);
});

test("waits no longer than it may, nor than half of the time left", async () => {
  const input = lookedUp({ degraded: ["cache"] });
  expect(await createEmbed({ embedder: hanging, waitMs: 5 })(input, context())).toMatchObject(
    degradedBy("embedder_slow"),
  );
  const late = context({ deadline: 1_010 });
  expect(await createEmbed({ embedder: hanging, clock: () => 1_000 })(input, late)).toMatchObject(
    degradedBy("embedder_slow"),
  );
  expect(await createEmbed({ embedder: hanging, clock: () => 5_000 })(input, late)).toMatchObject(
    degradedBy("embedder_slow"),
  );
});

test("when the record is taken away it gives up at once", async () => {
  const controller = new AbortController();
  const outcome = createEmbed({ embedder: hanging })(lookedUp(), context({ signal: controller.signal }));
  controller.abort(new Error("partition lost"));
  expect(await outcome).toMatchObject({ kind: "retryLater", cause: { message: "partition lost" } });
  const aborted = context({ signal: AbortSignal.abort(new Error("shutting down")) });
  expect(await createEmbed({ embedder: hanging })(lookedUp(), aborted)).toMatchObject({ kind: "retryLater" });
});

test("a bug is thrown, not hidden", async () => {
  await expect(createEmbed({ embedder: failing(new TypeError("bug")) })(lookedUp(), context())).rejects.toThrow("bug");
});

test("what nothing would read is not made, and nothing is degraded by it", async () => {
  const embed = createWhole({
    ...needed,
    arms: () => [arm("small")],
    embedder: failing(new EmbedderError("embedder_unavailable", "x")),
  });
  const input = lookedUp();
  expect(await embed(input, context())).toEqual({ kind: "ok", value: { ...input, embedding: null } });
});
