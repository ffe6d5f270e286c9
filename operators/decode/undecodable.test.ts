import { expect, it } from "vitest";
import { createUndecodable } from "./undecodable.ts";
import { recordedTopicOf } from "./rows.ts";

const value = Buffer.from("{}");

it.each([
  ["feedback", value, true],
  // Nothing is deleted by it, so a client has left out what it meant to send.
  ["feedback", null, true],
  ["withdrawals", null, true],
  ["observations", null, true],
  // Deletes a key of a compacted topic.
  ["examples", null, false],
  ["policies", null, false],
  ["examples", value, true],
  // plan does it.
  ["requests", null, false],
  ["dead-letters", value, false],
] as const)("%s with value %o: dead letter %s", async (topic, bytes, expected) => {
  const letters: string[] = [];
  const counted: string[] = [];
  const undecodable = createUndecodable({
    topicOf: recordedTopicOf("p."),
    deadLetter: ({ topic: from }, code) => Promise.resolve(void letters.push(`${from} ${code}`)),
    onUndecodable: (from) => counted.push(from),
  });
  const record = { key: null, value: bytes };
  await undecodable({ topic: `p.${topic}`, partition: 0, record } as never, "no_value", "The record has no value.");
  expect(letters).toEqual(expected ? [`p.${topic} no_value`] : []);
  expect(counted).toEqual([topic]);
});
