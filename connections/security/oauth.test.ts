import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { createTokenSource } from "./oauth.ts";

let server: Server | undefined;
const asked: { authorization?: string | undefined; body: string }[] = [];

async function endpoint(answers: { status: number; body: string }[]): Promise<string> {
  const made = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      asked.push({ authorization: request.headers.authorization, body });
      const answer = answers[Math.min(asked.length, answers.length) - 1];
      response.writeHead(answer?.status ?? 500, { "content-type": "application/json" }).end(answer?.body);
    });
  });
  server = made;
  await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}/token`;
}

const token = (value: string, life: number) => ({
  status: 200,
  body: JSON.stringify({ access_token: value, token_type: "bearer", expires_in: life }),
});
const source = (url: string) =>
  createTokenSource({ oauth: { endpoint: url, clientId: "a b", clientSecret: "p&w", scope: "kafka" } });

afterEach(() => {
  asked.length = 0;
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

it("asks once however many need a token, and keeps it while it lives", async () => {
  const get = source(await endpoint([token("t1", 3_600), token("t2", 3_600)]));
  expect(await Promise.all([get(), get(), get()])).toEqual(["t1", "t1", "t1"]);
  expect(await get()).toBe("t1");
  expect(asked).toEqual([
    {
      authorization: `Basic ${Buffer.from("a+b:p%26w").toString("base64")}`,
      body: "grant_type=client_credentials&scope=kafka",
    },
  ]);
});

it("fetches another before the first one's end", async () => {
  // A fifth of the life before its end: with no life left, at once.
  const get = source(await endpoint([token("t1", 0.001), token("t2", 3_600)]));
  expect(await get()).toBe("t1");
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(await get()).toBe("t2");
});

it("tries again while the endpoint is busy, and a bounded number of times", async () => {
  const busy = { status: 503, body: "" };
  expect(await source(await endpoint([busy, busy, token("t", 60)]))()).toBe("t");
  server?.close();
  asked.length = 0;
  await expect(source(await endpoint([busy]))()).rejects.toThrow(/answers with status 503/);
  expect(asked).toHaveLength(4);
});

it("says what is refused, once, and never the secret", async () => {
  const get = source(await endpoint([{ status: 401, body: '{"error":"invalid_client","error_description":"p&w"}' }]));
  const refused = await get().then(String, (error: unknown) => String(error));
  expect(refused).toMatch(/refuses client "a b": invalid_client; see that oauth\.clientId/);
  expect(refused).not.toContain("p&w");
  expect(asked).toHaveLength(1);
});

it("reads a token file each time, and says when there is none", async () => {
  const folder = await mkdtemp(join(tmpdir(), "precedent-token-"));
  const tokenFile = join(folder, "token");
  const get = createTokenSource({ tokenFile });
  await expect(get()).rejects.toThrow(/token can't be read/);
  await writeFile(tokenFile, "one\n");
  expect(await get()).toBe("one");
  await writeFile(tokenFile, "two");
  expect(await get()).toBe("two");
  await rm(folder, { recursive: true });
});
