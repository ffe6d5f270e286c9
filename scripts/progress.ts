// What the reader sees while set-up works: one line a task. On a terminal it is live with the time
// spent; elsewhere a plain line at the beginning and one at the end.
import pc from "picocolors";
import { messageOf } from "../algorithms/errors.ts";

export interface Progress {
  /**
   * Runs a task under a title; the task may say what it is doing and gives what to show at its end.
   */
  task<T>(
    title: string,
    work: (say: (line: string) => void) => Promise<T>,
    outcome?: (result: T) => string,
  ): Promise<T>;
  line(text: string): void;
}

export function createProgress(out: NodeJS.WriteStream = process.stderr): Progress {
  const live = out.isTTY === true;
  const line = (text: string): void => void out.write(`${text}\n`);

  async function task<T>(
    title: string,
    work: (say: (line: string) => void) => Promise<T>,
    outcome: (result: T) => string = () => "done",
  ): Promise<T> {
    const started = Date.now();
    const seconds = (): string => `${((Date.now() - started) / 1000).toFixed(0)} s`;
    let doing = "";
    const draw = (): void =>
      void out.write(`\r\x1b[2K${pc.cyan("…")} ${title}${doing === "" ? "" : `: ${doing}`} ${pc.dim(seconds())}`);
    const say = (text: string): void => {
      doing = text;
      if (live) draw();
      else line(`  ${title}: ${text}`);
    };
    const timer = live ? setInterval(draw, 250) : undefined;
    if (live) draw();
    try {
      const result = await work(say);
      if (live) out.write("\r\x1b[2K");
      line(`${pc.green("✓")} ${title}: ${outcome(result)} ${pc.dim(`(${seconds()})`)}`);
      return result;
    } catch (error) {
      if (live) out.write("\r\x1b[2K");
      line(`${pc.red("✗")} ${title}: ${messageOf(error)}`);
      throw error;
    } finally {
      clearInterval(timer);
    }
  }
  return { task, line };
}
