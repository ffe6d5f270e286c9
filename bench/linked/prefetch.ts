// What it is worth to fetch the caches of waiting requests into memory: a stream of requests over a
// pool of chunks larger than memory, so that their caches lie on disk, one request at a time and
// others in line behind it. Rounds with and without prefetch take turns, in the same order of
// requests.
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import pLimit from "p-limit";
import type { LoadedLlama } from "../../arms/llama/load.ts";
import type { ConversationPrompt } from "../../arms/linked/beginning.ts";
import { shuffled } from "../support/samples.ts";
import { answer, type Answered, type BenchArm, openArm, policyNamed } from "./bench-arm.ts";
import type { Item } from "./prompts.ts";
import { everybody } from "../../connections/kv/keys.ts";

/**
 * Where the files of caches lie when a round begins: in the page cache of the system, or on the
 * device alone.
 */
export type Files = "page cache" | "device";

export interface StreamPlan {
  workload: string;
  policy: string;
  requests: number;
  /** For chunk caches; less than those of all requests together. */
  memoryMib: number;
  /** Requests in line behind the one that is answered. */
  waiting: number;
  /** Pairs of rounds, with and without, by where the files lie. */
  pairs: number;
  answerTokens: number;
}

export interface PrefetchAsked extends Answered {
  request: number;
  /** Which pair of rounds. */
  pair: number;
  files: Files;
  prefetch: boolean;
  /** Caches that were found in memory, of those read. */
  inMemory: number;
  read: number;
}

export interface PrefetchRound {
  files: Files;
  prefetch: boolean;
  /** CPU time of the process, and wall time. Milliseconds per request. */
  cpuMs: number;
  wallMs: number;
}

export interface Streamed {
  asked: PrefetchAsked[];
  rounds: PrefetchRound[];
  /** Size of all caches. */
  cachesMib: number;
  chunks: number;
}

export interface StreamOptions {
  plan: StreamPlan;
  items: readonly Item[];
  arm: Omit<BenchArm, "memoryMib" | "folder">;
  /** Where files may be written; one folder is made in it and removed. */
  folder: string;
  signal: AbortSignal;
}

const seed = 20_261_122;

export async function measurePrefetch({ plan, items, arm, folder, signal }: StreamOptions): Promise<Streamed> {
  const files = await mkdtemp(join(folder, "caches-"));
  const llama = await openArm({ ...arm, memoryMib: plan.memoryMib, folder: files });
  try {
    const prompts = items.map(({ tokens, chunks }) =>
      llama.model.keyed(
        {
          tokens,
          chunks: chunks.map((range) => ({ ...range, kind: "example", id: null, configured: false })),
          turnEnds: [],
        },
        everybody,
      ),
    );
    await makeCaches(llama, prompts, signal);
    // Unmeasured: memory holds from now on what a stream leaves in it.
    for (const prompt of prompts) await answer(llama, prompt, policyNamed(plan.policy), 1, signal);
    await llama.store.flush();
    const streamed: Streamed = { asked: [], rounds: [], ...extent(llama) };
    const canDrop = await dropped(files);
    for (let pair = 0; pair < plan.pairs; pair++) {
      const order = shuffled([...prompts.keys()], seed + pair);
      for (const where of canDrop ? (["page cache", "device"] as const) : (["page cache"] as const))
        // Neither is always the first.
        for (const prefetch of pair % 2 === 0 ? [false, true] : [true, false]) {
          if (where === "device") await dropped(files);
          const round = await stream(llama, prompts, order, { ...plan, prefetch, signal });
          streamed.asked.push(...round.asked.map((one) => ({ ...one, pair, files: where, prefetch })));
          streamed.rounds.push({ files: where, prefetch, cpuMs: round.cpuMs, wallMs: round.wallMs });
        }
    }
    return streamed;
  } finally {
    await llama.close();
    await rm(files, { recursive: true, force: true });
  }
}

/** As in idle time. */
async function makeCaches(
  llama: LoadedLlama,
  prompts: readonly ConversationPrompt[],
  signal: AbortSignal,
): Promise<void> {
  for (const prompt of prompts) {
    llama.idle.seen(prompt);
    while ((await llama.idle.next(signal)).more) signal.throwIfAborted();
  }
}

function extent({ store }: LoadedLlama): Pick<Streamed, "cachesMib" | "chunks"> {
  const listed = store.list();
  return { cachesMib: listed.reduce((sum, { bytes }) => sum + bytes, 0) / 1_048_576, chunks: listed.length };
}

interface Streaming {
  policy: string;
  waiting: number;
  answerTokens: number;
  prefetch: boolean;
  signal: AbortSignal;
}

/**
 * Clients that ask again as soon as they are answered, with `waiting` requests in the queue;
 * waiting requests are announced as in arms/calls.ts.
 */
async function stream(
  llama: LoadedLlama,
  prompts: readonly ConversationPrompt[],
  order: readonly number[],
  { policy: name, waiting, answerTokens, prefetch, signal }: Streaming,
) {
  const policy = policyNamed(name);
  const place = pLimit(1);
  const asked: Omit<PrefetchAsked, "pair" | "files" | "prefetch">[] = [];
  const queue = [...order];
  const ask = async (request: number): Promise<void> => {
    const prompt = prompts[request]!;
    const over = new AbortController();
    const waits = place.activeCount + place.pendingCount > 0;
    if (waits && prefetch) void llama.prefetcher.waiting(() => prompt, policy, over.signal);
    await place(async () => {
      const before = llama.store.stats();
      const answered = await answer(llama, prompt, policy, answerTokens, signal);
      const { memoryHits, diskHits, misses } = llama.store.stats();
      const inMemory = memoryHits - before.memoryHits;
      const read = inMemory + diskHits - before.diskHits + misses - before.misses;
      asked.push({ ...answered, request, inMemory, read });
    }).finally(() => over.abort());
  };
  const client = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) await ask(next);
  };
  const before = process.cpuUsage();
  const began = performance.now();
  await Promise.all(Array.from({ length: waiting + 1 }, client));
  const { user, system } = process.cpuUsage(before);
  const wallMs = (performance.now() - began) / order.length;
  return { asked, wallMs, cpuMs: (user + system) / 1000 / order.length };
}

/** Takes the folder's files out of the page cache; false: this system has no dd that can. */
async function dropped(folder: string): Promise<boolean> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  try {
    for (const file of files.filter((one) => one.isFile() && one.name.endsWith(".kv")))
      await promisify(execFile)("dd", [`if=${join(file.parentPath, file.name)}`, "iflag=nocache", "count=0"]);
    return true;
  } catch {
    return false;
  }
}
