import { expect, it } from "vitest";
import { createPrevious } from "./previous-response.ts";

const caller = { tenant: "acme", domains: null };
const row = {
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "hi" },
  ],
  passthrough: "",
  ...{ mark: "plain", text: "hello", answer: "" },
};
const previous = (rows: readonly object[][], asked: unknown[] = []) =>
  createPrevious({
    clickhouse: {
      query: <T>(_sql: string, parameters: unknown) => Promise.resolve((rows[asked.push(parameters) - 1] ?? []) as T[]),
    },
    lookUp: (ask) => ask(),
    tries: 2,
  });
const messages = async (of: object) =>
  (await previous([[{ ...row, ...of }]])("resp_r", caller)).map(({ text }) => JSON.parse(text) as unknown);

it("is its request's turns and its answer, without the instructions of that request", async () => {
  const turns = [...row.messages, { role: "assistant", content: "hello" }];
  expect(await messages({})).toEqual(turns);
  expect(await messages({ mark: "instructions" })).toEqual(turns.slice(1));
});

it("has what passed through as it was written, and the calls of the answer", async () => {
  const written = '{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x"},"n":1.0}]}';
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  const found = await previous([
    [
      {
        ...{ ...row, text: "", passthrough: `{"tools":[],"messages":[${written}]}` },
        answer: JSON.stringify({ message: { tool_calls: [call], reasoning_content: "hm" } }),
      },
    ],
  ])("resp_r", caller);
  expect(found[0]?.text).toBe(written);
  expect(JSON.parse(found[1]?.text ?? "")).toEqual({ role: "assistant", content: null, tool_calls: [call] });
});

it("is looked for by tenant and by the key's domains, again while it is not recorded", async () => {
  const asked: unknown[] = [];
  await previous([[], [row]], asked)("resp_r", { tenant: "acme", domains: ["support"] });
  expect(asked).toEqual(Array(2).fill({ id: "r", tenant: "acme", domains: ["acme/support"] }));
});

it("that is unknown is OpenAI's error", async () => {
  const error = { status: 400, code: "previous_response_not_found", param: "previous_response_id" };
  await expect(previous([])("resp_r", caller)).rejects.toMatchObject(error);
  const asked: unknown[] = [];
  for (const [id, of] of [
    ["chatcmpl-r", caller],
    ["resp_r", { tenant: "acme", domains: [] }],
  ] as const)
    await expect(previous([[row]], asked)(id, of)).rejects.toMatchObject(error);
  expect(asked).toEqual([]);
});

it("is looked for sixteen at a time by a tenant, and by others meanwhile", async () => {
  const asked: unknown[] = [];
  const of = previous([], asked);
  const searches = Array.from({ length: 20 }, (_, i) => of(`resp_${i}`, caller).catch((error: unknown) => error));
  const other = of("resp_x", { tenant: "beta", domains: null }).catch((error: unknown) => error);
  const codes = (await Promise.all(searches)).map((error) => (error as { code: string }).code);
  expect(codes.filter((code) => code === "too_many_open")).toHaveLength(4);
  expect(await other).toMatchObject({ code: "previous_response_not_found" });
  // All have ended: there is room again.
  await expect(of("resp_y", caller)).rejects.toMatchObject({ code: "previous_response_not_found" });
});
