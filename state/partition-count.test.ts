import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLog } from "../runtime/log.ts";
import { followPartitionCount } from "./partition-count.ts";

test("the count is the brokers', waits for them at first, and follows what they say", async () => {
  let count = 4;
  let looks = 0;
  const spans = async () => {
    if (++looks === 1) throw new Error("away");
    return Array.from({ length: count }, (_, partition) => ({ partition, beginning: 0, end: 0 }));
  };
  const log = createLog({ level: "silent" });
  const followed = await followPartitionCount({ spans }, { topic: "responses", log, everyMs: 5 });
  expect(followed.now()).toBe(4);
  count = 8;
  await sleep(50);
  expect(followed.now()).toBe(8);
  count = 0; // deleted: what it had stays until it is made anew
  await sleep(50);
  expect(followed.now()).toBe(8);
  followed.stop();
});
