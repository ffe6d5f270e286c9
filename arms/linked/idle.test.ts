import { expect, it } from "vitest";
import { createIdleWork } from "./idle.ts";
import type { CacheMaker, WantedCache } from "./make.ts";
import type { LinkedModel } from "./model.ts";

const prompt = { tokens: new Int32Array(), chunks: [] };
const wanted = (name: string): WantedCache => ({
  ...{ key: name, convention: "context", prefix: [], tokens: new Int32Array() },
  chunk: { chunk: name, begin: 0, tokens: 1 },
});

it("goes on with the next cache when one fails, and makes one again that a request ended", async () => {
  const made: string[] = [];
  const make: CacheMaker["make"] = ([first], signal) => {
    made.push(first!.key);
    const isBad = first!.key === "bad" || signal.aborted;
    return isBad ? Promise.reject(new Error("no")) : Promise.resolve({ done: [first!], caches: 1, tokens: 1 });
  };
  const maker = { wanted: () => ["bad", "good"].map(wanted), make };
  const idle = createIdleWork({ model: {} as LinkedModel, maker, vocabulary: 1 });
  idle.seen(prompt);
  const { signal } = new AbortController();
  await expect(idle.next(signal)).rejects.toThrow("no");
  await expect(idle.next(AbortSignal.abort())).rejects.toThrow("no");
  expect(await idle.next(signal)).toEqual({ more: false, samples: [] });
  expect(made).toEqual(["bad", "good", "good"]);
});

it("goes on with the next comparison when one fails", async () => {
  const maker = { wanted: () => [], make: () => Promise.resolve({ done: [], caches: 0, tokens: 0 }) };
  let runs = 0;
  const run = () => Promise.reject(new Error(`run ${++runs}`));
  const idle = createIdleWork({ model: { run } as unknown as LinkedModel, maker, vocabulary: 1 });
  const chunks = [0, 1].map((begin) => ({ chunk: String(begin), begin, tokens: 1 }));
  for (const requestId of ["a", "b"])
    idle.compare({ tokens: new Int32Array(2), chunks }, Int32Array.of(1), {
      ...{ requestId, tenant: "t", policies: ["naive"] },
    });
  const { signal } = new AbortController();
  await expect(idle.next(signal)).rejects.toThrow("run 1");
  await expect(idle.next(signal)).rejects.toThrow("run 2");
  expect(await idle.next(signal)).toEqual({ more: false, samples: [] });
});
