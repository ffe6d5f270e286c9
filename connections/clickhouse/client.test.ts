import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { createClickHouse } from "./client.ts";
import { ClickHouseUnavailable, type ClickHouse } from "./port.ts";

let server: Server;
let clickhouse: ClickHouse;
afterEach(async () => {
  await clickhouse.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** answers: what the server does with each statement in turn; number of those that came. */
async function start(...answers: ("cut" | "rows" | "wait")[]): Promise<{ taken: () => number; url: () => string }> {
  let taken = 0;
  let asked = "";
  server = createServer((request, response) => {
    const answer = answers[taken++] ?? "wait";
    request.resume();
    asked = request.url ?? "";
    if (answer === "cut") request.socket.destroy();
    if (answer === "rows") response.end('{"n":1}\n');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  clickhouse = createClickHouse({ url, username: "default", password: "" });
  return { taken: () => taken, url: () => asked };
}

it("repeats a read whose connection is lost, once", async () => {
  const once = await start("cut", "rows");
  expect(await clickhouse.query("SELECT 1 AS n")).toEqual([{ n: 1 }]);
  expect(once.taken()).toBe(2);
  expect(new URLSearchParams(once.url().slice(2)).get("max_result_bytes")).toBe("1073741824");
});

it("fails where the repeat is lost, too", async () => {
  const twice = await start("cut", "cut", "rows");
  await expect(clickhouse.query("SELECT 1 AS n")).rejects.toThrow(ClickHouseUnavailable);
  expect(twice.taken()).toBe(2);
});

it("repeats no write", async () => {
  const write = await start("cut", "rows");
  await expect(clickhouse.command("TRUNCATE TABLE t")).rejects.toThrow(ClickHouseUnavailable);
  await expect.poll(write.taken).toBe(1);
});

it("repeats nothing after close", async () => {
  const closed = await start("wait", "rows");
  const read = clickhouse.query("SELECT 1 AS n");
  const failed = expect(read).rejects.toThrow(ClickHouseUnavailable);
  await expect.poll(closed.taken).toBe(1);
  await clickhouse.close();
  await failed;
  expect(closed.taken()).toBe(1);
});
