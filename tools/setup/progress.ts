// What the reader sees while set-up works: one line a task. On a terminal those under way stand in
// one live line with the time spent; elsewhere each says what it does, and when it is done.
import pc from "picocolors";
import { messageOf } from "../../connections/errors.ts";

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
  /** What each does, and since when. */
  const underWay = new Map<string, { doing: string; started: number }>();
  let timer: NodeJS.Timeout | undefined;
  const since = (started: number): string => `${((Date.now() - started) / 1000).toFixed(0)} s`;

  const draw = (): void => {
    if (!live || underWay.size === 0) return;
    const all = [...underWay].map(([title, { doing, started }]) =>
      [title, ...(doing === "" ? [] : [`: ${doing}`]), ` ${since(started)}`].join(""),
    );
    out.write(`\r\x1b[2K${pc.cyan("…")} ${all.join(" · ").slice(0, Math.max(20, out.columns - 4))}`);
  };
  const line = (text: string): void => {
    out.write(`${live ? "\r\x1b[2K" : ""}${text}\n`);
    draw();
  };

  async function task<T>(
    title: string,
    work: (say: (line: string) => void) => Promise<T>,
    outcome: (result: T) => string = () => "done",
  ): Promise<T> {
    const started = Date.now();
    underWay.set(title, { doing: "", started });
    if (live) timer ??= setInterval(draw, 250);
    const say = (text: string): void => {
      underWay.set(title, { doing: text, started });
      if (live) draw();
      else line(`  ${title}: ${text}`);
    };
    const end = (text: string): void => {
      underWay.delete(title);
      line(text);
      if (underWay.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
    draw();
    try {
      const result = await work(say);
      end(`${pc.green("✓")} ${title}: ${outcome(result)} ${pc.dim(`(${since(started)})`)}`);
      return result;
    } catch (error) {
      end(`${pc.red("✗")} ${title}: ${messageOf(error)}`);
      throw error;
    }
  }
  return { task, line };
}
