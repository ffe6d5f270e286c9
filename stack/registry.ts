// Apicurio Registry (Confluent's protocol under /apis/ccompat/v7) on H2. WRITE_DELAY=0: else a kill
// -9 loses registrations and reuses ids.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { classArchive, type ClassArchive } from "./archive.ts";
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
  return {
    name: "registry",
    stopGraceMs: 10_000,
    async prepare() {
      current = await port();
      await mkdir(folder, { recursive: true });
      archive = await classArchive(servers, "registry", [...jvm, jar]);
      return {
        command: "java",
        args: [...jvm, ...archive.options, "-jar", jar],
        cwd: folder,
        env: {
          ...process.env,
          HTTP_PORT: String(current),
          QUARKUS_HTTP_HOST: "127.0.0.1",
          REGISTRY_DATASOURCE_URL: `jdbc:h2:file:${join(folder, "registry")};WRITE_DELAY=0`,
          QUARKUS_DATASOURCE_JDBC_MIN_SIZE: "1",
          QUARKUS_DATASOURCE_JDBC_INITIAL_SIZE: "1",
          QUARKUS_DATASOURCE_JDBC_MAX_SIZE: "10",
        },
      };
    },
    ended: async (clean) => archive?.keep(clean),
    async probe() {
      const answer = await fetch(`${registryUrl(current)}/subjects`, { signal: AbortSignal.timeout(5_000) });
      if (!answer.ok) throw new Error(`the registry answers ${answer.status}`);
      await answer.arrayBuffer();
    },
  };
}
