// A system that keeps what it can of its requests: answers for repeats, examples, rewards. The
// tests of precedent forget begin with it.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startSystem, type ConfigInput, type TestSystem } from "./system.ts";

export interface LoggedAnswer {
  request: string;
  response: string;
}

/** Its one arm gives these answers; a command that is run in the folder finds its configuration. */
export async function startRemembering(
  folder: string,
  answers: readonly LoggedAnswer[],
  more: Partial<ConfigInput> = {},
): Promise<TestSystem> {
  const file = join(folder, "log.jsonl");
  await writeFile(file, answers.map((line) => JSON.stringify(line)).join("\n"));
  const system = await startSystem(
    {
      arms: [{ name: "only", type: "recorded", file, cost: 0.2 }],
      cache: { enabled: true },
      record: { batchMs: 100 },
      learn: { everyMs: 300, settleMs: 0 },
      curate: { everyMs: 300, admit: { minimumQuality: 0.8 } },
      kafka: { partitions: 2 },
      ...more,
    },
    { stages: ["plan", "generate", "record", "learn", "curate"] },
  );
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify({ ...system.config, instance: undefined }));
  return system;
}
