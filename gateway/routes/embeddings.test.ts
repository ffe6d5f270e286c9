import pino from "pino";
import { expect, it } from "vitest";
import { EmbedderError } from "../../connections/embedder/port.ts";
import { createKeyLimits, type KeyLimits } from "../keys/limits.ts";
import { mostTokens, noSpendLimits, plainKey } from "../keys/key.testing.ts";
import { createConnectionLimit } from "../connection-limit.ts";
import { createServer } from "../server.ts";
import { addEmbeddings } from "./embeddings.ts";

function setUp(
  embed: (text: string) => Promise<Float32Array>,
  open = () => Promise.resolve(),
  limits?: Pick<KeyLimits, "tokens">,
) {
  const server = createServer({ maxBodyBytes: 1_048_576, slowReaderMs: 60_000, log: pino({ level: "silent" }) });
  const connectionLimit = createConnectionLimit(8);
  const embedder = { model: "mini", dimension: 1, embed };
  addEmbeddings(server, {
    callerOf: () => ({ tenant: "a", arms: null, domains: null, ...(limits && { limits: limits as KeyLimits }) }),
    embedder: () => open().then(() => embedder),
    connectionLimit,
  });
  const post = async (input: unknown) => {
    const { statusCode, headers, body } = await server.inject({
      ...{ method: "POST", url: "/v1/embeddings", payload: { model: "mini", input } },
    });
    const { error } = JSON.parse(body) as { error?: { code: string } };
    return { status: statusCode, code: error?.code, again: headers["retry-after"] };
  };
  return { post, connectionLimit };
}

it("holds no more texts than it may, and gives all slots back", async () => {
  const waiting: (() => void)[] = [];
  const { post, connectionLimit } = setUp(
    () => new Promise((resolve) => waiting.push(() => resolve(new Float32Array(1)))),
  );
  const texts = Array.from({ length: 256 }, (_, i) => `text ${i}`);
  const open = [1, 2, 3, 4].map(() => post(texts));
  await expect.poll(() => waiting.length).toBe(1_024);
  expect(await post("one more")).toEqual({ status: 429, code: "embedder_busy", again: "1" });
  for (const answer of waiting) answer();
  expect((await Promise.all(open)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(connectionLimit.open()).toBe(0);
});

it("says when the embedder is busy, fails, or can't be opened", async () => {
  const failing = (code: "embedder_busy" | "not_finite") => setUp(() => Promise.reject(new EmbedderError(code, "")));
  expect(await failing("embedder_busy").post("x")).toMatchObject({ status: 429, code: "embedder_busy" });
  expect(await failing("not_finite").post("x")).toMatchObject({ status: 503, code: "embedder_unavailable" });
  const absent = setUp(
    () => expect.fail(),
    () => Promise.reject(new Error("no model")),
  );
  expect(await absent.post("x")).toMatchObject({ status: 503, code: "embedder_unavailable", again: "5" });
});

it("counts its tokens to the limit of the key, and gives its slot back where they are used up", async () => {
  const key = plainKey({ tokensPerMinute: 8 });
  const limits = createKeyLimits(() => key, {
    gateways: () => 1,
    holdSpending: noSpendLimits,
    mostTokens,
    clock: () => 0,
  });
  const { post, connectionLimit } = setUp(
    () => Promise.resolve(new Float32Array(1)),
    () => Promise.resolve(),
    limits,
  );
  const text = "list all files";
  expect([(await post(text)).status, (await post([text])).status]).toEqual([200, 200]);
  expect(await post(text)).toMatchObject({ status: 429, code: "rate_limit_exceeded", again: "30" });
  expect(connectionLimit.open()).toBe(0);
});
