import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { readOnlyQuery } from "./console.ts";
import { ClickHouseRejected, ClickHouseUnavailable } from "./port.ts";

let server: Server | undefined;
afterEach(() => {
  server?.close();
});

async function serve(status: number, body: string) {
  const seen: { url: string; user: unknown; format: unknown; sql: string }[] = [];
  const made = createServer((request, response) => {
    let sql = "";
    request.on("data", (chunk: Buffer) => (sql += chunk.toString()));
    request.on("end", () => {
      const { headers } = request;
      seen.push({
        url: request.url ?? "",
        user: headers["x-clickhouse-user"],
        format: headers["x-clickhouse-format"],
        sql,
      });
      response.writeHead(status, { "x-clickhouse-format": "TSV" }).end(body);
    });
  });
  server = made;
  await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
  const target = {
    url: `http://127.0.0.1:${(made.address() as AddressInfo).port}`,
    username: "u",
    password: "p",
    database: "d",
  };
  return { seen, target };
}

describe("reading statements", () => {
  it("are sent as read-only, in the format asked for", async () => {
    const { seen, target } = await serve(200, "1\n");
    const { format, bytes } = await readOnlyQuery(target, "SELECT 1", "CSV", undefined, { max_threads: "1" });
    expect(Buffer.concat(await collect(bytes)).toString()).toBe("1\n");
    expect(format).toBe("TSV");
    expect(seen[0]).toMatchObject({ user: "u", format: "CSV", sql: "SELECT 1" });
    expect(seen[0]?.url).toContain("readonly=2");
    expect(seen[0]?.url).toContain("database=d");
    expect(seen[0]?.url).toContain("max_threads=1");
  });

  it("reject with ClickHouse's own words and code", async () => {
    const { target } = await serve(404, "Code: 60. DB::Exception: Unknown table x. (UNKNOWN_TABLE)\n");
    const asked = readOnlyQuery(target, "SELECT * FROM x", "CSV");
    await expect(asked).rejects.toBeInstanceOf(ClickHouseRejected);
    await expect(asked).rejects.toMatchObject({ code: "60" });
  });

  it("say that no server listens", async () => {
    const target = { url: "http://127.0.0.1:1", username: "u", password: "", database: "d" };
    await expect(readOnlyQuery(target, "SELECT 1", "CSV")).rejects.toBeInstanceOf(ClickHouseUnavailable);
  });
});

async function collect(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}
