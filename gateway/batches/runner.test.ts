import pino from "pino";
import { expect, it } from "vitest";
import { createRunner, type Room } from "./runner.ts";
import type { StoredBatch } from "./table.ts";

const batchOf = (id: string, tenant: string): StoredBatch => ({ id, tenant, createdAt: 0 }) as StoredBatch;

/** Lines that each batch gets when it takes all that it can, in its turn. */
async function taken(batches: readonly StoredBatch[], due = false): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  let done = (): void => undefined;
  const all = new Promise<void>((resolve) => (done = resolve));
  const runner = createRunner({
    unfinished: () => batches,
    owns: () => true,
    workOf: ({ id }, room: Room) => ({
      async turn({ signal }) {
        let count = 0;
        while (room.take(due) !== undefined) count++;
        found.set(id, count);
        if (found.size === batches.length) done();
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        return undefined;
      },
    }),
    newWindow: () => ({ size: () => 8, observe: () => undefined }),
    ...{ mostDue: 64, load: () => 0, now: () => 0, log: pino({ level: "silent" }), lookEveryMs: 1 },
  });
  await all;
  await runner.stop();
  return found;
}

it("gives one tenant all the room, and several their shares", async () => {
  expect(await taken([batchOf("a", "acme")])).toEqual(new Map([["a", 8]]));
  const both = [batchOf("a", "acme"), batchOf("b", "beta")];
  expect(await taken(both)).toEqual(
    new Map([
      ["a", 4],
      ["b", 4],
    ]),
  );
  expect(await taken(both, true)).toEqual(
    new Map([
      ["a", 32],
      ["b", 32],
    ]),
  );
});

it("divides a tenant's share among its batches as they come", async () => {
  const found = await taken([batchOf("a", "acme"), batchOf("b", "acme"), batchOf("c", "beta")]);
  expect(found).toEqual(
    new Map([
      ["a", 4],
      ["c", 4],
      ["b", 0],
    ]),
  );
});
