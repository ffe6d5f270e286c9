import type { KafkaMessage } from "kafkajs";
import { expect, it } from "vitest";
import { toRawRecord } from "./messages.ts";
import type { FetchedMessage } from "./protocol/fetched-message.ts";

const raw = (message: Partial<FetchedMessage>) =>
  toRawRecord({
    ...{ offset: "7", key: null, value: null, headers: [], timestamp: "5", batchContext: { timestampType: 0 } },
    ...message,
  } as unknown as KafkaMessage);

it("has headers by name, and all of them where names say too little", () => {
  const [one, two] = [Buffer.from("1"), Buffer.from("2")];
  expect(
    raw({
      headers: [
        ["a", one],
        ["b", two],
      ],
    }),
  ).toEqual({
    ...{ offset: 7, key: null, value: null, timestamp: 5, appended: false },
    headers: { a: one, b: two },
  });
  for (const headers of [
    [
      ["a", one],
      ["a", two],
    ],
    [
      ["a", null],
      ["a", two],
    ],
    [
      ["a", two],
      ["a", null],
    ],
  ] as const)
    expect(raw({ headers })).toMatchObject({ headers: { a: two }, headerList: headers });
  expect(raw({ headers: [["a", null]] })).toMatchObject({ headers: {}, headerList: [["a", null]] });
});

it("takes a header named __proto__ as any other", () => {
  const { headers } = raw({ headers: [["__proto__", Buffer.from("1")]] });
  expect(Object.entries(headers)).toEqual([["__proto__", Buffer.from("1")]]);
  expect(headers["toString"]).toBeUndefined();
});

it("has a time that a Date can say", () => {
  for (const timestamp of ["-1", "9223372036854775807", "-9223372036854775808"])
    expect(() => new Date(raw({ timestamp }).timestamp).toISOString()).not.toThrow();
});
