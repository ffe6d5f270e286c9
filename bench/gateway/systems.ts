// What the gateway benchmark measures in turn, all in front of one model: nothing, our gateway,
// LiteLLM's proxy and Portkey's gateway. A peer that can't be had is absent, with the reason.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BenchContext } from "../benchmark.ts";
import { startChild } from "../loop/child.ts";
import { cpuSecondsOfTree } from "../support/processes.ts";
import { runLoad, type Load, type Target } from "./client.ts";
import { systemNames, type SystemName, type Turn } from "./figures.ts";
import { modelName } from "./model.ts";
import { startOurs } from "./ours.ts";
import type { Outcomes } from "./outcomes.ts";
import { startPeer, type PeerName } from "./peers.ts";

export interface Systems {
  /** One load on each that could be started, by name. */
  turns: Partial<Record<SystemName, (load: Load) => Promise<Turn>>>;
  absent: Partial<Record<SystemName, string>>;
  /** What was asked, what the model was called for, and what ours has recorded. */
  outcomes(): Promise<Outcomes>;
  close(): Promise<void>;
}

interface Running {
  target: Target;
  /** Seconds so far, by process. */
  cpu(): Record<string, number>;
  /** Behind a turn: what the system still has to do for its requests. */
  settle?(requests: number): Promise<void>;
}

const upstreamProcess = fileURLToPath(new URL("./upstream-process.ts", import.meta.url));

export async function startSystems(context: BenchContext, stackFolder: string): Promise<Systems> {
  const { folder, signal, note } = context;
  const closing: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const one of closing.splice(0).reverse()) await one().catch((error: unknown) => note(String(error)));
  };
  try {
    const log = join(folder, "upstream.log");
    const upstream = await startChild({ arguments: ["--import", "tsx", upstreamProcess], log, signal });
    closing.push(upstream.stop);
    const model = String(upstream.announced["url"]);
    const absent: Systems["absent"] = {};
    const running: Partial<Record<SystemName, Running>> = {
      direct: { target: { baseUrl: `${model}/direct/v1`, model: modelName }, cpu: () => ({}) },
    };
    const peer = async (name: PeerName): Promise<void> => {
      try {
        const { child, target } = await startPeer(name, context, `${model}/${name}/v1`);
        closing.push(child.stop);
        running[name] = { target, cpu: () => cpuSecondsOfTree(child.pid) };
      } catch (error) {
        signal.throwIfAborted();
        absent[name] =
          `it could not be installed or started: ${error instanceof Error ? error.message : String(error)}`;
        note(`${name}: ${absent[name]}`);
      }
    };
    note("starting the gateways");
    const leftOut = context.only === "ours";
    if (leftOut) for (const name of ["litellm", "portkey"] as const) absent[name] = "--only ours left it out";
    const peers = Promise.all(leftOut ? [] : [peer("litellm"), peer("portkey")]);
    const ours = await startOurs(context, { stackFolder, upstream: `${model}/ours/v1` }).finally(() => peers);
    closing.push(ours.stop);
    running.ours = {
      target: ours.target,
      cpu: () => ({ ...cpuSecondsOfTree(ours.child.pid), ...ours.servers() }),
      settle: ours.recorded,
    };

    const run = randomBytes(4).toString("hex");
    const asked: Partial<Record<SystemName, number>> = {};
    let questions = 0;
    const turn = async (name: SystemName, { target, cpu, settle }: Running, load: Load): Promise<Turn> => {
      const before = cpu();
      const answers = await runLoad(target, load, { run, next: () => questions++, signal });
      const sum = (asked[name] ?? 0) + answers.latencies.length;
      asked[name] = sum;
      // What is still to be recorded must not run into the next one's turn, and its CPU counts.
      await settle?.(sum);
      const spent = Object.entries(cpu()).map(([process, s]) => [process, s - (before[process] ?? 0)] as const);
      return { ...answers, cpuSeconds: Object.fromEntries(spent) };
    };
    const turns: Systems["turns"] = {};
    for (const name of systemNames) {
      const system = running[name];
      if (system !== undefined) turns[name] = (load) => turn(name, system, load);
    }
    return {
      turns,
      absent,
      outcomes: async () => ({
        requests: asked,
        model_calls: (await (await fetch(`${model}/calls`)).json()) as Outcomes["model_calls"],
        ours_recorded: await ours.records(),
      }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
