// Follows the section "Your own endpoint" of docs/getting-started.md to the letter: its YAML is
// precedent.yaml, its commands run in order; `precedent up` goes on beside the others.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export interface FollowOptions {
  /** Where the commands run and precedent.yaml is written. */
  folder: string;
  environment: NodeJS.ProcessEnv;
  /** Appended to precedent.yaml: what keeps one test apart from others. */
  appended?: string;
  /** Replaces the port of the gateway in commands. */
  port?: number;
  onStep?: (line: string) => void;
}

export interface Followed {
  /** In the order of the document: what each command printed, after `up`. */
  outputs: Map<string, string>;
  /** Milliseconds from the start of `up`. */
  readyMs: number;
  firstAnswerMs: number;
}

export function readSteps(): { configuration: string; commands: string[] } {
  const text = readFileSync(fileURLToPath(new URL("../docs/getting-started.md", import.meta.url)), "utf8");
  const section = /^## Your own endpoint\n([\s\S]*?)(?=^## )/m.exec(text)?.[1] ?? "";
  const configuration = /^```yaml\n([\s\S]*?)^```/m.exec(section)?.[1] ?? "";
  const commands = [...section.matchAll(/^ {4}(\S.*)$/gm)].map(([, command = ""]) => command);
  // Indented YAML lines are not commands.
  return { configuration, commands: commands.filter((command) => !configuration.includes(`    ${command}\n`)) };
}

/** Rejects with the output when a command fails. Ends all processes that it started. */
export async function followGettingStarted(options: FollowOptions): Promise<Followed> {
  const { folder, environment, appended = "", port, onStep = () => undefined } = options;
  const { configuration, commands } = readSteps();
  writeFileSync(join(folder, "precedent.yaml"), `${configuration}${appended}`);
  const run = (command: string): ChildProcess =>
    spawn("bash", ["-c", command], {
      cwd: folder,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
  const outputs = new Map<string, string>();
  let up: ChildProcess | undefined;
  let [began, readyMs, firstAnswerMs] = [0, 0, 0];
  let requestId = "";
  try {
    for (const written of commands) {
      const command = written.replace("REQUEST_ID", requestId).replace(":7717/", `:${port ?? 7717}/`);
      onStep(`$ ${command}`);
      if (/precedent up$/.test(written)) {
        began = performance.now();
        up = run(command);
        await until(up, "Precedent runs.", onStep);
        readyMs = performance.now() - began;
        continue;
      }
      // Records become readable after a moment.
      const question = / (?:explain|sql) /.test(command) ? "list hidden files" : "";
      const output = await printed(() => run(command), question);
      onStep(output);
      outputs.set(written, output);
      if (/ ask /.test(written)) {
        firstAnswerMs = performance.now() - began;
        requestId = /^request (\S+)$/m.exec(output)?.[1] ?? "";
      }
    }
    return { outputs, readyMs, firstAnswerMs };
  } finally {
    if (up?.pid !== undefined && up.exitCode === null) {
      const ended = once(up, "close");
      // npx and its shell pass no signal on: the group gets it.
      process.kill(-up.pid, "SIGTERM");
      await ended;
    }
  }
}

async function until(child: ChildProcess, words: string, onStep: (line: string) => void): Promise<void> {
  let text = "";
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on("data", (part: Buffer) => (text += part.toString()));
    child.stdout?.on("data", (part: Buffer) => {
      onStep(part.toString().trimEnd());
      text += part.toString();
      if (text.includes(words)) resolve();
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`precedent up ended with code ${code ?? "none"}:\n${text}`)));
  });
}

/** Resolves with the output once it contains these words. */
async function printed(start: () => ChildProcess, words: string): Promise<string> {
  for (let left = words === "" ? 0 : 60; ; left--) {
    const child = start();
    let [output, errors] = ["", ""];
    child.stdout?.on("data", (part: Buffer) => (output += part.toString()));
    child.stderr?.on("data", (part: Buffer) => (errors += part.toString()));
    const [code] = (await once(child, "close")) as [number | null];
    if (code === 0 && output.includes(words)) return output;
    if (left === 0) throw new Error(`it ended with code ${code ?? "none"}: ${output}${errors}`);
    await sleep(500);
  }
}
