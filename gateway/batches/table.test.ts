import { describe, expect, test } from "vitest";
import type { BatchPart } from "../../schemas/types.ts";
import { keptMs } from "./limits.ts";
import { batchObject, fileObject, pageOf, resultFiles, resultOf, statusOf } from "./objects.ts";
import { createBatchTable, mayRead, noPart, partKey, type StoredBatch } from "./table.ts";

const file = {
  id: "file-a",
  name: "a.jsonl",
  bytes: 7,
  lines: 3,
  partition: 1,
  from: 5,
  to: 8,
  account: null,
  problems: [],
};
const order = { endpoint: "/v1/chat/completions", account: null, metadata: { a: "b" }, expiresAt: 86_401_000 };
const progress = {
  ...{ line: 1, offset: 5, completed: 0, failed: 0, completedAhead: 1, failedAhead: 1, deferred: 0 },
  ...{ startedAt: 2_000, finalizingAt: null as number | null, result: null },
};
const result = { status: "completed", finishedAt: 5_000, outputBytes: 9, errorBytes: 0 };
const id = `batch_${"0".repeat(32)}`;

const made = (now = 0) => {
  const clock = { now };
  const table = createBatchTable(() => clock.now);
  const put = (part: Partial<BatchPart>): string => {
    const whole = { ...noPart, id, tenant: "acme", createdAt: 1_000, ...part };
    table.apply([{ key: partKey(whole), value: whole }]);
    return partKey(whole);
  };
  const batch = (): StoredBatch => table.batch("acme", id) ?? expect.fail("there is no such batch");
  return { clock, table, put, batch };
};

describe("the table", () => {
  test("puts a batch together from its parts, in any order of their writers", () => {
    const { table, put, batch } = made();
    put({ progress });
    expect(table.batch("acme", id)).toBeUndefined();
    put({ file, order });
    expect([statusOf(batch()), table.unfinished().length]).toEqual(["in_progress", 1]);
    put({ cancelled: true, createdAt: 3_000 });
    expect(batchObject(batch())).toMatchObject({
      ...{ status: "cancelling", cancelling_at: 3, cancelled_at: null, in_progress_at: 2, input_file_id: "file-a" },
      ...{ request_counts: { total: 3, completed: 1, failed: 1 }, metadata: { a: "b" }, output_file_id: null },
    });
    put({ progress: { ...progress, finalizingAt: 4_000, result: { ...result, status: "cancelled" } } });
    expect(batchObject(batch())).toMatchObject({ status: "cancelled", cancelled_at: 5, completed_at: null });
    expect(table.unfinished()).toEqual([]);
  });
  test("what has ended stays so, whatever a gateway says that was frozen meanwhile", () => {
    const { table, put, batch } = made();
    put({ file, order });
    put({ progress: { ...progress, result } });
    put({ progress });
    expect([statusOf(batch()), table.unfinished().length]).toEqual(["completed", 0]);
  });
  test("shows a tenant its own, newest first", () => {
    const { table, put } = made();
    put({ file, order });
    put({ id: "file-a", file });
    put({ id: "file-b", file: { ...file, id: "file-b" }, createdAt: 2_000 });
    expect(table.filesOf("acme").map((one) => one.id)).toEqual(["file-b", "file-a"]);
    expect(table.batchesOf("acme").map((one) => one.id)).toEqual([id]);
    expect([table.filesOf("other"), table.batchesOf("other")]).toEqual([[], []]);
    expect([table.file("other", "file-a"), table.batch("other", id)]).toEqual([undefined, undefined]);
    expect([table.batch("acme", "file-a"), table.file("acme", id)]).toEqual([undefined, undefined]);
  });
  test("a deleted file still counts; one that is taken out by its key is gone", () => {
    const { table, put } = made();
    const key = put({ id: "file-a", file });
    put({ id: "file-a", deleted: true });
    expect(table.filesOf("acme")).toMatchObject([{ deleted: true, file: { bytes: 7 } }]);
    table.apply([{ key, value: null }]);
    expect(table.filesOf("acme")).toEqual([]);
    table.apply([{ key: "nothing of ours", value: null }]);
  });
  test("files and batches end after their time", () => {
    const { clock, table, put } = made();
    put({ file, order });
    put({ id: "file-a", file });
    clock.now = 1_000 + keptMs;
    expect([table.filesOf("acme"), table.batchesOf("acme"), table.unfinished()]).toEqual([[], [], []]);
  });
});

describe("in OpenAI's format", () => {
  test("a batch of a file with problems has failed", () => {
    const { put, batch, table } = made();
    const problem = { line: 2, code: "invalid_json_line", message: "Line 2: it is no valid JSON.", param: null };
    put({ file: { ...file, problems: [problem] }, order });
    expect(batchObject(batch())).toMatchObject({
      ...{ status: "failed", failed_at: 1, errors: { object: "list", data: [problem] } },
      request_counts: { total: 0, completed: 0, failed: 0 },
    });
    expect(table.unfinished()).toEqual([]);
  });
  test("results are files where there is something in them", () => {
    const { put, batch } = made();
    put({ file, order });
    expect([statusOf(batch()), resultFiles(batch())]).toEqual(["validating", []]);
    put({ progress: { ...progress, finalizingAt: 3_000 } });
    expect([statusOf(batch()), resultFiles(batch())]).toEqual(["finalizing", []]);
    put({ progress: { ...progress, finalizingAt: 3_000, result } });
    const [output, ...others] = resultFiles(batch());
    expect(others).toEqual([]);
    expect(output).toMatchObject({ id: `file-${id}-output`, bytes: 9, purpose: "batch_output", created_at: 5 });
    expect(resultOf(output?.id ?? "")).toEqual({ batchId: id, kind: "output" });
    expect(batchObject(batch())).toMatchObject({ output_file_id: output?.id, error_file_id: null, completed_at: 5 });
    for (const odd of ["file-a", `file-${id}`, `file-${id}-outputs`, ` file-${id}-output`])
      expect(resultOf(odd)).toBeUndefined();
  });
  test("a file", () => {
    expect(fileObject({ id: "file-a", createdAt: 1_999, file })).toEqual({
      ...{ id: "file-a", object: "file", bytes: 7, filename: "a.jsonl", purpose: "batch", status: "processed" },
      ...{ status_details: null, created_at: 1, expires_at: 1 + keptMs / 1_000 },
    });
  });
  test("pages of a list", () => {
    const all = ["a", "b", "c"].map((one) => ({ id: one }));
    expect(pageOf(all, { limit: 2 })).toMatchObject({ first_id: "a", last_id: "b", has_more: true });
    expect(pageOf(all, { after: "b", limit: 2 })).toMatchObject({ first_id: "c", last_id: "c", has_more: false });
    expect(pageOf(all, { after: "c", limit: 2 })).toMatchObject({ data: [], first_id: null, has_more: false });
    expect(pageOf(all, { after: "d", limit: 2 })).toBeUndefined();
    expect(pageOf([], { limit: 1 })).toMatchObject({ data: [], has_more: false });
  });
});

test.each([
  ["no key", { domains: null }, null, true],
  ["no key, what a key made", { domains: null }, "k1", true],
  ["a key of all domains, what another made", { domains: null, account: "k1" }, "k2", true],
  ["a key of some domains, its own", { domains: ["geo"], account: "k1" }, "k1", true],
  ["a key of some domains, what another made", { domains: ["geo"], account: "k1" }, "k2", false],
  ["a key of some domains, what was there before keys", { domains: ["geo"], account: "k1" }, null, false],
  ["who has no account", { domains: [] }, null, false],
])("may be read by %s", (_name, caller, account, expected) => {
  expect(mayRead(caller, account)).toBe(expected);
});
