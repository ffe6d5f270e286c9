// The three stages that the benchmark measures in turn, each a process with a topic to read and one
// to write: ours, Kafka Streams, and a plain loop of kafkajs.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BenchContext } from "../benchmark.ts";
import { startChild, type Child, type ChildOptions } from "../loop/child.ts";
import type { StreamsProgram } from "./streams.ts";

export const systemNames = ["ours", "streams", "plain"] as const;
export type SystemName = (typeof systemNames)[number];

export interface System {
  name: SystemName;
  child: Child;
  group: string;
  input: string;
  output: string;
}

/** Milliseconds between two commits of Kafka Streams; the others commit when they can. */
const commitMs = 10;

const entry = (name: string): string => fileURLToPath(new URL(`./${name}-process.ts`, import.meta.url));

export async function startSystem(
  name: SystemName,
  { folder, profile, signal }: BenchContext,
  at: { brokers: readonly string[]; prefix: string; streams: StreamsProgram },
): Promise<System> {
  const [group, input, output] = [`${at.prefix}.${name}`, `${at.prefix}.${name}.in`, `${at.prefix}.${name}.out`];
  const topics = [at.brokers.join(","), group, input, output];
  const program: Record<SystemName, Pick<ChildOptions, "command" | "arguments" | "profile">> = {
    ours: {
      arguments: ["--import", "tsx", entry("ours"), ...topics],
      ...(profile ? { profile: join(folder, "profiles") } : {}),
    },
    streams: { command: "java", arguments: [...at.streams.arguments, ...topics, String(commitMs)] },
    plain: { arguments: ["--import", "tsx", entry("plain"), ...topics] },
  };
  const child = await startChild({ ...program[name], log: join(folder, `${name}.log`), signal });
  return { name, child, group, input, output };
}
