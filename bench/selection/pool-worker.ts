// A process that has nothing but a pool, as plan has it: what it holds is the pool's.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { serveCalls } from "../../connections/worker/rpc.ts";
import type { ExamplePool } from "../../state/examples/port.ts";
import { dimension, row, rowsIn } from "./data.ts";
import { domain, numberOf, openPool } from "./pool.ts";
import type { PoolMethods } from "./pool-methods.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
let pool: ExamplePool | undefined;

serveCalls<PoolMethods>({
  async open(folder) {
    const began = performance.now();
    let indexPid = 0;
    pool = await openPool(folder, (pid) => (indexPid = pid));
    await pool.nearest(domain, new Float32Array(dimension).fill(dimension ** -0.5), 1, Date.now());
    return { pid: process.pid, indexPid, seconds: (performance.now() - began) / 1_000 };
  },
  async search({ queries, k }) {
    const numbers = new Uint32Array(rowsIn(queries) * k);
    const ms = new Float64Array(rowsIn(queries));
    for (let i = 0; i < ms.length; i++) {
      const query = row(queries, i);
      const began = performance.now();
      const found = (await pool?.nearest(domain, query, k, Date.now())) ?? [];
      ms[i] = performance.now() - began;
      numbers.set(found.map(numberOf), i * k);
    }
    return { numbers, ms };
  },
  heap() {
    collect();
    const { heapUsed, external, arrayBuffers } = process.memoryUsage();
    return { heap: heapUsed, external: external + arrayBuffers };
  },
  close: async () => pool?.close(),
});
