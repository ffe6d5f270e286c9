import { createServer, type Server } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createSteps, describeStart, refuseTakenPorts } from "./start-report.ts";

const connections = {
  kafka: { brokers: ["one:9092", "two:9092"], ssl: false },
  registry: { url: "https://me:secret@registry.example/apis/ccompat/v7" },
  clickhouse: { url: "http://clickhouse:8123", database: "precedent", username: "default", password: "secret" },
};

describe("a start", () => {
  it("prints each step with its seconds", () => {
    const lines: string[] = [];
    const clock = [812, 12_345];
    const say = createSteps(
      (text) => lines.push(text),
      () => clock.shift()!,
    );
    say("kafka: ready");
    say("plan: ready");
    expect(lines).toEqual(["   0.8 s  kafka: ready\n", "  12.3 s  plan: ready\n"]);
  });

  it("ends with every address, without credentials", () => {
    const text = describeStart({
      ...{ file: "/etc/precedent.yaml", connections, baseUrl: "http://127.0.0.1:7717/v1" },
      metricsUrl: "http://127.0.0.1:9464/metrics",
    });
    expect(text.split("\n").map((line) => line.trim().replace(/ +/g, " "))).toEqual(
      expect.arrayContaining([
        "page http://127.0.0.1:7717/",
        "base URL http://127.0.0.1:7717/v1",
        "KAFKA=one:9092,two:9092",
        "REGISTRY=https://registry.example/apis/ccompat/v7",
        "metrics http://127.0.0.1:9464/metrics",
        "configuration /etc/precedent.yaml",
      ]),
    );
    expect(text).not.toContain("secret");
  });
});

describe("ports to listen on", () => {
  let other: Server | undefined;
  afterEach(() => void other?.close());
  const taken = async (): Promise<number> => {
    other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    return (other.address() as AddressInfo).port;
  };

  it("are refused with the program that has them and the key", async () => {
    const port = await taken();
    const host = "127.0.0.1";
    await expect(refuseTakenPorts({ http: { host, port } })).rejects.toThrow(
      new RegExp(`port ${port} is taken by process ${process.pid} \\(.*set http\\.port .*Nothing was started`),
    );
  });

  it("may be any free one, and are no matter of this machine elsewhere", async () => {
    await refuseTakenPorts({ http: { host: "127.0.0.1", port: 0 } });
    await refuseTakenPorts({ http: { host: "192.0.2.1", port: await taken() } });
  });
});
