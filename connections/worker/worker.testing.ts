// A worker for the tests of rpc.ts: it can answer, fail, crash, be slow and send events.
import { Moved, serveCalls, workerInput } from "./rpc.ts";

export interface TestMethods {
  add(pair: { a: number; b: number }): number;
  fail(code: string): never;
  crash(how: "throw" | "exit"): void;
  untilCancelled(argument: null): string;
  count(to: number): string;
  double(vector: Float32Array): Float32Array;
  input(argument: null): string;
}

serveCalls<TestMethods>({
  add: ({ a, b }) => a + b,
  fail: (code) => {
    throw Object.assign(new Error(`failed with ${code}`), { code });
  },
  crash: (how) =>
    new Promise<void>(() => {
      if (how === "exit") process.exit(7);
      setTimeout(() => {
        throw new Error("uncaught in the worker");
      });
    }),
  untilCancelled: (_, { signal }) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve("cancelled"))),
  count: (to, { emit }) => {
    for (let i = 0; i < to; i++) emit(i);
    return "done";
  },
  double: (vector) => {
    const result = vector.map((value) => 2 * value);
    return new Moved(result, [result.buffer]);
  },
  input: () => workerInput<string>(),
});
