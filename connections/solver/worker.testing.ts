// A worker that never answers.
import { setTimeout as sleep } from "node:timers/promises";
import { serveCalls } from "../worker/rpc.ts";

serveCalls<{ knapsack(call: unknown): Promise<void> }>({ knapsack: () => sleep(60_000) });
