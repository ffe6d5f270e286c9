// Apicurio Registry, which speaks Confluent's schema registry protocol under /apis/ccompat/v7, with
// its store in an H2 file. WRITE_DELAY=0 is vital: without it a kill -9 loses registrations, and
// their ids are given out again. It checks no Host, so it listens on an address of the loopback
// that no web page can guess, and clients ask a process in front of it (registry-front.ts).
import { spawn, type ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { identify } from "../connections/process/identity.ts";
import { readHolder, writeHolder } from "../connections/process/lock.ts";
import { classArchive, type ClassArchive } from "./archive.ts";
import { end, script } from "./process.ts";
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
  let front: ChildProcess | undefined;
  const frontFile = join(folder, "front");
  /** Also that of a supervisor which was killed. */
  const endFront = async (): Promise<void> => {
    front = undefined;
    const holder = await readHolder(frontFile);
    if (holder !== undefined) await end(holder, 1_000);
  };
  const startFront = async (host: string): Promise<void> => {
    const child = spawn(process.execPath, [...script("registry-front.ts"), String(current), host], {
      ...{ detached: true, stdio: ["ignore", "inherit", "inherit"] },
    });
    front = child;
    child.once("error", () => undefined);
    child.once("exit", () => {
      // It failed by itself; at the registry's own end there is another one anyway.
      const again = (): void => void (front === child && startFront(host).catch(() => undefined));
      setTimeout(again, 500).unref();
    });
    const identity = identify(child.pid ?? 0);
    if (identity !== undefined) await writeHolder(frontFile, { ...identity, uses: ["front"] });
  };
  return {
    name: "registry",
    stopGraceMs: 10_000,
    async prepare() {
      await mkdir(folder, { recursive: true });
      await endFront();
      current = await port();
      const host = `127.${[0, 1, 2].map(() => randomInt(1, 255)).join(".")}`;
      await startFront(host);
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
      await endFront();
      await archive?.keep(clean);
    },
    async probe() {
      const answer = await fetch(`${registryUrl(current)}/subjects`, { signal: AbortSignal.timeout(5_000) });
      if (!answer.ok) throw new Error(`the registry answers ${answer.status}`);
      await answer.arrayBuffer();
    },
  };
}
