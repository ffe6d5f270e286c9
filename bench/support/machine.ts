// On what, from which commit and when something was measured.
import { execFileSync } from "node:child_process";
import { cpus, loadavg, totalmem } from "node:os";
import { fileURLToPath } from "node:url";

export interface Machine {
  cpu: string;
  cores: number;
  memory_gib: number;
  node: string;
  /**
   * Load average of the last minute, our own load included: far above `cores`, others were at work
   * and times are worth little.
   */
  load: number;
}

export function machine(): Machine {
  const cores = cpus();
  return {
    cpu: cores[0]?.model ?? "unknown",
    cores: cores.length,
    memory_gib: Math.round((totalmem() / 2 ** 30) * 10) / 10,
    node: process.version,
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  };
}

/** The commit, with "+changes" when tracked files differ from it; null outside a checkout. */
export function commit(): string | null {
  const git = (...words: string[]): string =>
    execFileSync("git", words, {
      cwd: fileURLToPath(new URL("../..", import.meta.url)),
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  try {
    const changed = git("status", "--porcelain", "--untracked-files=no") !== "";
    return git("rev-parse", "--short=12", "HEAD") + (changed ? "+changes" : "");
  } catch {
    return null;
  }
}
