// Stage processes of one system, several of each stage, and a load balancer in front of its
// gateways. A test kills and starts each of them by name: plan-a, plan-b, gateway-a.
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../config/schema.ts";
import type { StageName } from "../../pipelines/up.ts";
import { freePort } from "../../stack/ports.ts";
import { startBalancer } from "./balancer.ts";
import { createWorkers, type Workers } from "./workers.ts";

export interface Fleet {
  /** The balancer's. */
  baseUrl: string;
  /** The gateway's own. */
  baseUrlOf(name: string): string;
  /** Connections that each gateway has taken from the balancer so far. */
  taken(): number[];
  /** Resolves when its stage has joined its group. */
  start(name: string): Promise<void>;
  /** kill -9. */
  kill(name: string): Promise<void>;
  stop(): Promise<void>;
}

interface Member {
  stage: StageName;
  workers: Workers;
  /** 0: it is no gateway. */
  port: number;
}
const addressOf = (port: number): string => `http://127.0.0.1:${port}/v1`;

/** Resolves when all run; each gateway has a port of its own, also when it is started again. */
export async function startFleet(config: Config, counts: Partial<Record<StageName, number>>): Promise<Fleet> {
  const folder = await mkdtemp(join(tmpdir(), "precedent-fleet-"));
  const ports: number[] = [];
  const members = new Map<string, Member>();
  for (const [stage, count] of Object.entries(counts) as [StageName, number][])
    for (let i = 0; i < count; i++) {
      const name = `${stage}-${"abc"[i]}`;
      const own = join(folder, name);
      await mkdir(own);
      const port = stage === "gateway" ? await freePort(undefined, ports) : 0;
      if (port !== 0) ports.push(port);
      const workers = createWorkers({ ...config, gateway: { ...config.gateway, port } }, own);
      members.set(name, { stage, workers, port });
    }
  const member = (name: string): Member => {
    const found = members.get(name);
    if (found === undefined) throw new Error(`${name} is none of ${[...members.keys()].join(", ")}`);
    return found;
  };
  const balancer = await startBalancer(ports);
  const start = (name: string): Promise<void> => member(name).workers.start(member(name).stage, name);
  const stop = async (): Promise<void> => {
    const ended = await Promise.allSettled([...members.values()].map(({ workers }) => workers.stop()));
    await balancer.stop();
    await rm(folder, { recursive: true, force: true });
    for (const one of ended) if (one.status === "rejected") throw one.reason;
  };
  try {
    await Promise.all([...members.keys()].map(start));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    baseUrl: addressOf(balancer.port),
    baseUrlOf: (name) => addressOf(member(name).port),
    taken: () => [...balancer.taken().values()],
    start,
    kill: (name) => member(name).workers.kill(name),
    stop,
  };
}
