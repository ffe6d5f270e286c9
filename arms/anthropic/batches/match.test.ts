// Which batch a record without one stands for, where the provider's list can't be read in full.
import { describe, expect, it } from "vitest";
import type { SubmittedBatch } from "../../../schemas/types.ts";
import { createBatchesApi, type MessageBatch } from "./api.ts";
import { bytesOf, createMatching } from "./match.ts";

const id = "0123456789abcdef0123456789abcdef";
const record: SubmittedBatch = { id: "r", arm: "night", lines: bytesOf([id]), batch: null, createdAt: 1_000_000 };
/** Long after the record was written: its batch was created, or never will be. */
const late = record.createdAt + 86_400_000;

const listed = (...data: unknown[]): Promise<MessageBatch[]> =>
  createBatchesApi({ baseUrl: "http://provider/v1", apiKey: "k", headers: {} }, () =>
    Promise.resolve(Response.json({ data, has_more: false })),
  ).list(record.createdAt);

function matchingOf(list: () => Promise<MessageBatch[]>, ...lines: string[]) {
  const records = new Map([[record.id, record]]);
  async function* results() {
    await Promise.resolve();
    for (const line of lines) yield { line: { custom_id: line }, text: "" };
  }
  const matching = createMatching({
    api: { list, results },
    records: {
      read: () => Promise.resolve([...records.values()]),
      write: (one) => Promise.resolve(void records.set(one.id, one)),
      remove: (one) => Promise.resolve(void records.delete(one)),
    },
    collectMs: 1_000,
    clock: () => late,
  });
  return { matching, records };
}

const readable = {
  id: "msgbatch_1",
  created_at: new Date(record.createdAt).toISOString(),
  request_counts: { processing: 0, succeeded: 1 },
  processing_status: "ended",
};
const members: [string, object][] = [
  ["as it should be", {}],
  ["without a date", { created_at: undefined }],
  ["with another date's form", { created_at: "yesterday" }],
  ["without counts", { request_counts: undefined }],
  ["with counts that are text", { request_counts: { succeeded: "one" } }],
  ["with counts that are none", { request_counts: { succeeded: null, errored: null } }],
  ["with no counts", { request_counts: {} }],
];

describe("a batch that is listed", () => {
  it.each(members)("%s is the record's if its results name the record's lines", async (_how, change) => {
    const { matching } = matchingOf(() => listed({ ...readable, ...change }), id);
    await expect(matching.batchOf(record)).resolves.toBe("msgbatch_1");
  });

  it.each(members)("%s leaves the record alone while it has not ended", async (_how, change) => {
    const { matching, records } = matchingOf(() =>
      listed({ ...readable, ...change, processing_status: "in_progress" }),
    );
    await expect(matching.batchOf(record)).resolves.toBeUndefined();
    expect(records.size).toBe(1);
  });

  it.each(members)("%s is another's if its results name other lines", async (_how, change) => {
    const { matching, records } = matchingOf(() => listed({ ...readable, ...change }), "f".repeat(32));
    await expect(matching.batchOf(record)).resolves.toBeNull();
    expect(records.size).toBe(0);
  });

  it("with other lines, or from another time, is not read", async () => {
    const other = { ...readable, request_counts: { succeeded: 2 } };
    const later = { ...readable, id: "msgbatch_2", created_at: new Date(late).toISOString() };
    const { matching } = matchingOf(() => listed(other, later), id);
    await expect(matching.batchOf(record)).resolves.toBeNull();
  });

  it.each<[string, unknown]>([
    ["without an id", { ...readable, id: undefined }],
    ["that is no object", "msgbatch_1"],
  ])("%s may be the record's, which is left alone", async (_how, one) => {
    const { matching, records } = matchingOf(() => listed(one), id);
    await expect(matching.batchOf(record)).resolves.toBeUndefined();
    expect(records.size).toBe(1);
  });

  it.each([
    ["there is no list", { batches: [readable] }],
    ["there is more and no way to it", { data: [readable], has_more: true }],
  ])("is unknown where %s", async (_how, body) => {
    const api = createBatchesApi({ baseUrl: "http://provider/v1", apiKey: "k", headers: {} }, () =>
      Promise.resolve(Response.json(body)),
    );
    await expect(api.list(record.createdAt)).rejects.toThrow("can't be read");
  });

  it("has its id in addresses as one segment", async () => {
    const asked: string[] = [];
    const api = createBatchesApi({ baseUrl: "http://provider/v1", apiKey: "k", headers: {} }, (url) => {
      asked.push(url instanceof Request ? url.url : String(url));
      return Promise.resolve(Response.json(readable));
    });
    await api.look("../files?x=1#");
    expect(asked).toEqual(["http://provider/v1/messages/batches/..%2Ffiles%3Fx%3D1%23"]);
  });
});
