// `precedent up` as its users start it: a process that keeps the one of all stages running. A file
// makes that one throw outside of every handler.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { eventually } from "./system.ts";

export interface KeptUp {
  /** The process of all stages that runs now. */
  pid(): number;
  /** Lines of its log with this message. */
  logged(message: string): Record<string, unknown>[];
  /** Addresses as the log says them. */
  urls(): { gateway: string; metrics: string; health: string };
  /** Lets the process of all stages throw in a timer. */
  throwNow(): void;
  /** Resolves once `count` processes have said that they run. */
  running(count: number): Promise<unknown>;
  stop(): Promise<number | null>;
}

const root = fileURLToPath(new URL("../..", import.meta.url));

export async function startKeptUp(folder: string, configuration: object): Promise<KeptUp> {
  const [file, log, bug, script] = ["precedent.yaml", "up.log", "bug", "bug.mjs"].map((name) => join(folder, name));
  writeFileSync(file!, JSON.stringify(configuration));
  writeFileSync(log!, "");
  writeFileSync(
    script!,
    `import { existsSync, rmSync } from "node:fs";
     import { isMainThread } from "node:worker_threads";
     const file = ${JSON.stringify(bug)};
     // Neither the one that keeps it running, nor its workers, which inherit this.
     if (process.env.PRECEDENT_KEPT_RUNNING !== undefined && isMainThread && process.argv.includes("up"))
       setInterval(() => { if (existsSync(file)) { rmSync(file); throw new Error("a bug in a timer"); } }, 50).unref();`,
  );
  const child = spawn(process.execPath, [join(root, "tools/bin/precedent"), "-c", file!, "up"], {
    ...{ cwd: root, stdio: ["ignore", "ignore", "pipe"] },
    env: { ...process.env, NODE_OPTIONS: `--import ${pathToFileURL(script!).href}` },
  });
  child.stderr.on("data", (part: Buffer) => writeFileSync(log!, part, { flag: "a" }));
  const logged = (message: string): Record<string, unknown>[] =>
    readFileSync(log!, "utf8")
      .split("\n")
      .flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as Record<string, unknown>] : []))
      .filter(({ msg }) => String(msg).startsWith(message));
  const last = (message: string): Record<string, unknown> => logged(message).at(-1) ?? {};
  const kept: KeptUp = {
    pid: () => Number(last("running")["pid"]),
    logged,
    urls: () => ({
      gateway: String(last("the gateway serves clients")["baseUrl"]),
      metrics: String(last("running")["metrics"]),
      health: String(last("running")["health"]),
    }),
    throwNow: () => writeFileSync(bug!, ""),
    running: (count) =>
      eventually(`running process ${count}`, () => {
        if (child.exitCode !== null) throw new Error(readFileSync(log!, "utf8").slice(-2_000));
        return Promise.resolve(logged("running").length >= count || undefined);
      }),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      child.kill("SIGTERM");
      const [code] = (await once(child, "exit")) as [number | null];
      return code;
    },
  };
  await kept.running(1).catch(async (error: unknown) => {
    await kept.stop();
    throw error;
  });
  return kept;
}

/** Resident memory of a process in MiB. */
export function residentOf(pid: number): number {
  if (!existsSync(`/proc/${pid}/status`)) return 0;
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;
}
