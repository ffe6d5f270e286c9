// What an upload puts on the topic, and what of one that fails counts for its tenant.
import { expect, it } from "vitest";
import { storeFile } from "./store-file.ts";

const line = (id: number, content: string): string =>
  `${JSON.stringify({ custom_id: String(id), method: "POST", url: "/v1/chat/completions", body: { content } })}\n`;

async function store(chunks: AsyncGenerator<Buffer>, send: () => Promise<void> = () => Promise.resolve()) {
  const found = { came: 0, stored: 0, sent: 0 };
  const file = await storeFile(
    chunks,
    { id: "file-1", tenant: "acme", name: "a.jsonl", account: null },
    {
      kafka: { ends: () => Promise.resolve([{ partition: 0, low: 0, high: 0 }]), partitionOf: () => 0 } as never,
      codec: { encode: (_record: string, { text }: { text: string }) => Buffer.from(text) } as never,
      topic: "batch-lines" as never,
      mostLineBytes: 1_048_576,
      onBytes: (bytes) => (found.came += bytes),
      onStored: (bytes) => (found.stored += bytes),
      send: async (messages) => {
        found.sent += messages.length;
        await send();
      },
    },
  ).catch((error: unknown) => (error as Error).message);
  return { ...found, file };
}
async function* upload(lines: readonly string[], end?: string): AsyncGenerator<Buffer> {
  for (const one of lines) yield Buffer.from(one);
  await Promise.resolve();
  if (end !== undefined) throw new Error(end);
}

it("stores every line once, and all bytes of it", async () => {
  const lines = [line(1, "a"), line(2, "b")];
  const { came, stored, sent, file } = await store(upload(lines));
  expect([came, sent, file]).toMatchObject([lines.join("").length, 2, { lines: 2, problems: [] }]);
  expect(stored).toBe(came - 2);
});

it("of an upload that its client aborts, only what is on the topic counts", async () => {
  expect(await store(upload([line(1, "a"), line(2, "b")], "gone"))).toMatchObject({ stored: 0, sent: 0, file: "gone" });
  // A chunk is a megabyte: the first two lines are one.
  const long = [1, 2, 3].map((id) => line(id, "x".repeat(600_000)));
  const { came, stored, sent } = await store(upload(long, "gone"));
  expect([sent, came]).toEqual([2, long.join("").length]);
  expect(stored).toBe(long[0]!.length + long[1]!.length - 2);
});

it("counts a chunk that brokers may have although they did not say so", async () => {
  const { stored, file } = await store(upload([line(1, "a")]), () => Promise.reject(new Error("away")));
  expect([stored, file]).toEqual([line(1, "a").length - 1, "away"]);
});
