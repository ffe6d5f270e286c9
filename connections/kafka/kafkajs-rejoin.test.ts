import { expect, test, vi } from "vitest";
import type { ConsumerGroupLike } from "./kafkajs-internals.ts";
import { withDueJoin, withJoinFirst } from "./kafkajs-rejoin.ts";

const missing = { type: "UNKNOWN_TOPIC_OR_PARTITION" };

/** A member whose fetches and recoveries are recorded; `refresh` says what its metadata does. */
function played(refresh: () => Promise<void>) {
  const refreshMetadata = vi.fn(refresh);
  const joinAndSync = vi.fn(() => Promise.resolve());
  const group = { cluster: { refreshMetadata }, joinAndSync } as unknown as ConsumerGroupLike;
  const fetched = vi.fn(() => Promise.resolve(["batch"] as unknown[]));
  const fetch = (): Promise<unknown[]> => withJoinFirst(fetched).call(group, "1");
  const recover = (error: { type?: string }, then: () => Promise<void>): Promise<void> =>
    withDueJoin(then).call(group, error);
  return { refreshMetadata, joinAndSync, fetched, fetch, recover };
}
const works = (): Promise<void> => Promise.resolve();
const fails = (): Promise<void> => Promise.reject(new Error("no such topic"));

test("while the topic is missing nothing is fetched, and a join comes before the next fetch", async () => {
  let isThere = false;
  const { refreshMetadata, joinAndSync, fetched, fetch, recover } = played(() => (isThere ? works() : fails()));
  await expect(recover(missing, fails)).rejects.toThrow("no such topic");
  await expect(fetch()).rejects.toThrow("no such topic");
  expect([fetched.mock.calls.length, joinAndSync.mock.calls.length]).toEqual([0, 0]);
  isThere = true;
  expect(await Promise.all([fetch(), fetch()])).toEqual([[], []]);
  expect([refreshMetadata.mock.calls.length, joinAndSync.mock.calls.length, fetched.mock.calls.length]).toEqual([
    2, 1, 0,
  ]);
  expect(await fetch()).toEqual(["batch"]);
});

test("a recovery that joined, and other errors, leave nothing due", async () => {
  const { joinAndSync, fetch, recover } = played(works);
  await recover(missing, works);
  await expect(recover({ type: "NOT_LEADER_FOR_PARTITION" }, fails)).rejects.toThrow();
  await expect(recover({}, fails)).rejects.toThrow();
  expect(await fetch()).toEqual(["batch"]);
  expect(joinAndSync).not.toHaveBeenCalled();
});

test("another error's recovery does not stand for the join", async () => {
  const { joinAndSync, fetch, recover } = played(works);
  await expect(recover(missing, fails)).rejects.toThrow();
  await recover({ type: "OFFSET_OUT_OF_RANGE" }, works);
  expect(await fetch()).toEqual([]);
  expect(joinAndSync).toHaveBeenCalledOnce();
});
