import { expect, test } from "vitest";
import { plainExample } from "../../schemas/example.testing.ts";
import { exampleMessages } from "./example-messages.ts";

const domain = "t/one";
const exampleOf = (id: string) => plainExample({ id, tenant: "t", domain, request: id, response: "r" });
let looks = 0;
const session = {
  codec: { encode: (_topic: string, { id }: { id: string }) => Buffer.from(id) },
  kafka: {
    spans() {
      looks++;
      return Promise.resolve([0, 1, 2].map((partition) => ({ partition, beginning: 0, end: 9 })));
    },
  },
  topic: (name: string) => `x.${name}`,
  // What is used of a session, as the function names it.
} as unknown as Parameters<typeof exampleMessages>[0];

test("a state goes to its key's partition alone, and no partitions are looked up", async () => {
  const [message, ...more] = await exampleMessages(session, [{ id: "a", domain, value: exampleOf("a") }]);
  expect(message).toMatchObject({ topic: "x.examples", key: "t/one/a", value: Buffer.from("a") });
  expect([message?.partition, more, looks]).toEqual([undefined, [], 0]);
});

test("a removal goes to every partition, and all messages have one time", async () => {
  const messages = await exampleMessages(session, [
    { id: "a", domain, value: null },
    { id: "b", domain, value: exampleOf("b") },
  ]);
  const tombstones = messages.filter(({ value }) => value === null);
  expect(tombstones.map(({ key, partition }) => [key, partition])).toEqual([0, 1, 2].map((at) => ["t/one/a", at]));
  expect(messages).toHaveLength(4);
  expect(new Set(messages.map(({ timestamp }) => timestamp)).size).toBe(1);
});
