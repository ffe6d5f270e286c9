import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, expect, it } from "vitest";
import { httpCall } from "../security/http.ts";
import { beginningOf, partsOf, textOf } from "./bodies.ts";

let server: Server | undefined;
afterEach(() => server?.closeAllConnections());

async function serving(answer: RequestListener): Promise<string> {
  const made = createServer(answer).listen(0, "127.0.0.1");
  server = made;
  await new Promise((resolve) => made.once("listening", resolve));
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}`;
}

/** Resolves when the client is gone. */
function endless(): { answer: RequestListener; left: Promise<void> } {
  let leave = (): void => undefined;
  const left = new Promise<void>((resolve) => (leave = resolve));
  const answer: RequestListener = (_request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write("x".repeat(16_384)));
    };
    response.on("drain", more).on("close", leave);
    more();
  };
  return { answer, left };
}

it("reads a body within the bound, and leaves an endless one", async () => {
  const { answer, left } = endless();
  const url = await serving(answer);
  const tooLong = { message: "more than 100000 bytes" };
  await expect(textOf(partsOf((await fetch(url)).body), 100_000)).rejects.toMatchObject(tooLong);
  await left;
  expect((await beginningOf((await fetch(url)).body, 100_000)).length).toBe(100_000);
  await expect(textOf(await httpCall(url, {}), 100_000)).rejects.toMatchObject(tooLong);
  server?.close();
  const whole = await serving((_request, response) => response.end("12345"));
  expect(await textOf(partsOf((await fetch(whole)).body), 5)).toBe("12345");
  expect(await textOf(await httpCall(whole, {}))).toBe("12345");
});

it("counts an inflated body as it is when it is unpacked", async () => {
  const url = await serving((_request, response) =>
    response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("x".repeat(10_000_000))),
  );
  await expect(textOf(partsOf((await fetch(url)).body))).rejects.toMatchObject({ message: "more than 1048576 bytes" });
});

it("gives the beginning of a body that is cut off; textOf does not take it for whole", async () => {
  const url = await serving((_request, response) => {
    response.writeHead(500, { "content-length": "100" }).write("it is bro", () => response.destroy());
  });
  expect(await beginningOf((await fetch(url)).body, 1_000)).toBe("it is bro");
  await expect(fetch(url).then(({ body }) => textOf(partsOf(body)))).rejects.toThrow();
  await expect(httpCall(url, {}).then((answer) => textOf(answer))).rejects.toThrow();
  expect(await beginningOf(null, 1_000)).toBe("");
});
