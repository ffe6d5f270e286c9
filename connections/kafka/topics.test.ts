import type { Admin } from "kafkajs";
import { expect, it } from "vitest";
import { configSchema } from "../../config/schema.ts";
import { createLog } from "../../runtime/log.ts";
import type { Logs } from "./logs.ts";
import { ensureTopics } from "./topics.ts";

it("ends where topics exist that we may not describe: they look missing, and can't be created", async () => {
  const refused = new Error("Not authorized to access topics: [Topic authorization failed]");
  const admin = {
    listTopics: () => Promise.resolve([]),
    describeCluster: () => Promise.resolve({ brokers: [{}] }),
    createTopics: () => Promise.resolve(false),
  } as unknown as Admin;
  let closed = 0;
  const logs = { read: () => Promise.reject(refused), close: () => Promise.resolve(closed++) } as unknown as Logs;
  const settings = configSchema.shape.kafka.parse({});
  const owners = { arms: ["small"], tenants: [], streaming: [] };
  const made = ensureTopics({ admin, open: () => logs }, settings, owners, createLog({ level: "silent" }));
  await expect(made).rejects.toBe(refused);
  expect(closed).toBe(1);
});
