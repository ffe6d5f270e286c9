import { expect, test } from "vitest";
import { metadata } from "./metadata.ts";

const id = Buffer.from("00112233445566778899aabbccddeeff", "hex");

test("asks for topics by name and makes none by it", async () => {
  const { request } = metadata(["ab"], 12);
  const { buffer } = (await request.encode()) as { buffer: Buffer };
  expect([request.apiKey, request.apiVersion]).toEqual([3, 12]);
  // Header tags; one topic: no id, "ab", tags; no creation, no operations, tags.
  expect(buffer.toString("hex")).toBe("00" + "02" + "00".repeat(16) + "036162" + "00" + "00" + "00" + "00");
});

test("reads the ids of topics behind brokers and partitions of any number", async () => {
  const int32 = (value: number): string => (value >>> 0).toString(16).padStart(8, "0");
  const text = (value: string): string => Buffer.from([value.length + 1, ...Buffer.from(value)]).toString("hex");
  const nodes = (...ids: number[]): string => Buffer.from([ids.length + 1]).toString("hex") + ids.map(int32).join("");
  const partition = `0000${int32(0)}${int32(1)}${int32(7)}${nodes(1, 2)}${nodes(1)}${nodes()}00`;
  const answer = [
    "00" + int32(0),
    "02" + int32(1) + text("h") + int32(9092) + "00" + "00", // a broker without a rack
    text("the-cluster") + int32(1),
    "03", // two topics
    "0000" + text("ab") + id.toString("hex") + "00" + "03" + partition + partition + int32(0) + "00",
    "0003" + text("gone") + "00".repeat(16) + "00" + "01" + int32(-2147483648) + "00",
    "00",
  ].join("");
  expect(await metadata([], 12).response.decode(Buffer.from(answer, "hex"))).toEqual({
    clusterId: "the-cluster",
    topics: [
      { topic: "ab", errorCode: 0, id: id.toString("base64url") },
      { topic: "gone", errorCode: 3, id: undefined },
    ],
  });
});
