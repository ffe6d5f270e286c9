import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { endpointOf, serversOf, untilReachable } from "./reachable.ts";

let server: Server | undefined;
afterEach(() => void server?.close());
const listening = async (): Promise<string> => {
  server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};
/** A port that no program listens on: that of a server that has ended. */
const free = async (): Promise<string> => {
  const address = await listening();
  await new Promise((settle) => server?.close(settle));
  return address;
};

const resolved = (address: string, broker = address) => ({
  kafka: { brokers: [broker, address], ssl: false },
  registry: { url: `http://me:secret@${address}/apis` },
  clickhouse: { url: `http://${address}`, database: "d", username: "u", password: "p" },
});
type Configured = Parameters<typeof serversOf>[0];
const nothing = { kafka: {}, registry: {}, clickhouse: {} } as Configured;

describe("servers that take no connection", () => {
  it("are all named in a line each, with key and remedy, without a password", async () => {
    const connections = resolved(await free());
    const configured = connections as unknown as Configured;
    const lines: string[] = [];
    const failed = await untilReachable(serversOf(configured, connections), (line) => lines.push(line), 2).then(
      () => "",
      (error: unknown) => String(error),
    );
    for (const key of ["kafka.brokers", "registry.url", "clickhouse.url"]) expect(failed).toContain(`${key} is right`);
    expect(failed.split("\n")).toHaveLength(3);
    expect(failed).toContain("connection refused");
    expect(failed + lines.join("")).not.toContain("secret");
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toContain("\n");
  });

  it("are embedded ones where none is configured", async () => {
    const servers = serversOf(nothing, resolved(await free()), ["clickhouse"]);
    await expect(untilReachable(servers, () => undefined, 1)).rejects.toThrow(/ClickHouse .*precedent stack status/);
  });

  it("is enough that one broker does", async () => {
    const gone = await free();
    const here = await listening();
    await untilReachable(serversOf(nothing, resolved(here, gone)), () => undefined, 1);
  });

  it("may come while they are waited for", async () => {
    const address = await free();
    const servers = serversOf(nothing, resolved(address), ["registry"]);
    const reached = untilReachable(servers, () => void (server = createServer().listen(endpointOf(address))), 1_000);
    await reached;
  });

  it.each([
    ["kafka-1:9092", "kafka-1", 9092],
    ["[::1]:9092", "::1", 9092],
    ["https://registry.example/apis", "registry.example", 443],
    ["http://clickhouse", "clickhouse", 80],
    ["http://[2001:db8::1]:8123/", "2001:db8::1", 8123],
  ])("is asked at its host and port: %s", (address, host, port) => {
    expect(endpointOf(address)).toEqual({ host, port });
  });
});
