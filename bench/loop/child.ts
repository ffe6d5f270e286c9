// A process under measurement: started, waited for until it says that it runs or answers at its
// address, stopped by SIGTERM. Its log is kept in a file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface Child {
  pid: number;
  /** What the line said by which it announced itself. */
  announced: Record<string, unknown>;
  /** Throws when it ended by itself. */
  check(): void;
  stop(): Promise<void>;
}

export interface ChildOptions {
  /** Arguments of the command. */
  arguments: string[];
  /** Another command than node. */
  command?: string;
  /** Set besides this process's own. */
  environment?: Readonly<Record<string, string>>;
  /** It runs once this address answers with 200; for programs that don't announce themselves. */
  answersAt?: string;
  /** Its log lines go here. */
  log: string;
  /** Folder for a CPU profile. */
  profile?: string | undefined;
  signal: AbortSignal;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const stopWithinMs = 20_000;
const answerWithinMs = 120_000;

/**
 * Resolves at the JSON line {"msg": "running", ...} on the child's standard error, or once it
 * answers where it is to.
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const profiling = options.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${options.profile}`];
  const child = spawn(options.command ?? process.execPath, [...profiling, ...options.arguments], {
    cwd: root,
    // Its end is this process's to see: nothing starts it again (cli/keep-running.ts).
    env: { ...process.env, PRECEDENT_KEPT_RUNNING: "1", ...options.environment },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(child, "exit");
  const log = createWriteStream(options.log);
  child.stderr.pipe(log);
  const lines = createInterface({ input: child.stderr });
  const ended = (): string | undefined =>
    child.exitCode === null && child.signalCode === null
      ? undefined
      : `the process under measurement ended (${child.exitCode ?? child.signalCode}): see ${options.log}`;

  const stop = async (): Promise<void> => {
    if (ended() !== undefined) return;
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), stopWithinMs);
    await exited;
    clearTimeout(timer);
  };

  const announced = new Promise<Record<string, unknown>>((resolve, reject) => {
    lines.on("line", (line) => {
      if (options.answersAt !== undefined || !line.startsWith("{")) return;
      const entry = JSON.parse(line) as Record<string, unknown>;
      if (entry.msg === "running") resolve(entry);
    });
    if (options.answersAt !== undefined) untilAnswers(options.answersAt, ended).then(() => resolve({}), reject);
    void exited.then(() => reject(new Error(ended())));
    options.signal.addEventListener("abort", () => reject(options.signal.reason as Error), { once: true });
  });
  try {
    return {
      pid: child.pid ?? 0,
      announced: await announced,
      check() {
        const problem = ended();
        if (problem !== undefined) throw new Error(problem);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function untilAnswers(url: string, ended: () => string | undefined): Promise<void> {
  const until = performance.now() + answerWithinMs;
  while (ended() === undefined) {
    const answered = await fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (answered) return;
    if (performance.now() > until) throw new Error(`${url} does not answer after ${answerWithinMs / 1_000} s`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
