import { expect, test } from "vitest";
import type { Example } from "../../schemas/types.ts";
import { copyHeader } from "../../operators/placement/mirror.ts";
import { encode, exampleOf, homeOf, partitions } from "../../operators/placement/topic.testing.ts";
import { exampleMessages } from "./example-messages.ts";

const domain = "t/one";
const home = homeOf(`${domain}/a`);
const others = Array.from({ length: partitions }, (_, i) => i).filter((partition) => partition !== home);
let looks = 0;
const session = {
  codec: { encode: (_topic: string, example: unknown) => encode(example as Example) },
  kafka: {
    spans: () => {
      looks++;
      return Promise.resolve(
        Array.from({ length: partitions }, (_, partition) => ({ partition, beginning: 0, end: 9 })),
      );
    },
    partitionOf: homeOf,
  },
  topic: (name: string) => `x.${name}`,
  // What is used of a session, as the function names it.
} as unknown as Parameters<typeof exampleMessages>[0];

test("a state goes to its home alone, and no partitions are looked up", async () => {
  const value = exampleOf(domain, "a");
  const [message, ...more] = await exampleMessages(session, [{ id: "a", domain, value }]);
  expect(message).toMatchObject({ topic: "x.examples", key: "t/one/a", value: encode(value) });
  expect([message?.partition, message?.headers, more, looks]).toEqual([undefined, undefined, [], 0]);
});

test("a removal goes to its home and, marked as a copy, wherever a copy may be; all with one time", async () => {
  const removal = { id: "a", domain, value: null };
  const everywhere = await exampleMessages(session, [removal, { id: "b", domain, value: exampleOf(domain, "b") }]);
  const tombstones = everywhere.filter(({ value }) => value === null);
  expect(new Set(tombstones.map(({ key }) => key))).toEqual(new Set(["t/one/a"]));
  expect(tombstones.map(({ partition }) => partition)).toEqual([home, ...others]);
  expect(tombstones.map(({ headers = {} }) => copyHeader in headers)).toEqual([false, ...others.map(() => true)]);
  expect(new Set(everywhere.map(({ timestamp }) => timestamp)).size).toBe(1);

  const placed = await exampleMessages(session, [removal], (of) => (of === domain ? [home, others[0]!] : []));
  expect(placed.map(({ partition }) => partition)).toEqual([home, others[0]]);
  expect(await exampleMessages(session, [removal], () => [])).toHaveLength(1);
});
