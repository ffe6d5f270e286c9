// Apicurio Registry, which speaks Confluent's schema registry protocol under /apis/ccompat/v7, with
// its store in an H2 file. WRITE_DELAY=0 is vital: without it a kill -9 loses registrations, and
// their ids are given out again. It checks no Host, so it listens on an address of the loopback
// that no web page can guess, and clients ask a server in front of it (registry-front.ts).
import { randomInt } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { classArchive, type ClassArchive } from "./archive.ts";
import { startRegistryFront, type RegistryFront } from "./registry-front.ts";
import type { ServerSpec } from "./server.ts";

export interface RegistryOptions {
  /** The real path of the servers, no link. */
  servers: string;
  folder: string;
  port(): Promise<number>;
}

const runner = "apicurio-registry-app-2.6.13.Final-runner.jar";
const jvm = ["-Xms64m", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData"];

export function registryUrl(port: number): string {
  return `http://127.0.0.1:${port}/apis/ccompat/v7`;
}

export function registryServer({ servers, folder, port }: RegistryOptions): ServerSpec {
  const jar = join(servers, "registry", runner);
  let current = 0;
  let archive: ClassArchive | undefined;
  let front: RegistryFront | undefined;
  const closeFront = async (): Promise<void> => {
    const open = front;
    front = undefined;
    await open?.close();
  };
  return {
    name: "registry",
    stopGraceMs: 10_000,
    async prepare() {
      await closeFront();
      current = await port();
      const host = `127.${[0, 1, 2].map(() => randomInt(1, 255)).join(".")}`;
      front = await startRegistryFront(current, host);
      await mkdir(folder, { recursive: true });
      archive = await classArchive(servers, "registry", [...jvm, jar]);
      return {
        command: "java",
        args: [...jvm, ...archive.options, "-jar", jar],
        cwd: folder,
        env: {
          ...process.env,
          HTTP_PORT: String(current),
          QUARKUS_HTTP_HOST: host,
          REGISTRY_DATASOURCE_URL: `jdbc:h2:file:${join(folder, "registry")};WRITE_DELAY=0`,
          QUARKUS_DATASOURCE_JDBC_MIN_SIZE: "1",
          QUARKUS_DATASOURCE_JDBC_INITIAL_SIZE: "1",
          QUARKUS_DATASOURCE_JDBC_MAX_SIZE: "10",
        },
      };
    },
    async ended(clean) {
      await closeFront();
      await archive?.keep(clean);
    },
    async probe() {
      const answer = await fetch(`${registryUrl(current)}/subjects`, { signal: AbortSignal.timeout(5_000) });
      if (!answer.ok) throw new Error(`the registry answers ${answer.status}`);
      await answer.arrayBuffer();
    },
  };
}
