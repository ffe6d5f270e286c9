// What the demo writes on the terminal: headings, lines cut to the width, and the tasks of the
// start, which run beside each other. On a terminal the tasks under way stand in one live line;
// elsewhere each leaves a line when it is done.
import pc from "picocolors";

export interface Screen {
  /** Columns a line may have. */
  readonly width: number;
  line(text?: string): void;
  /** A heading; `about` says in a sentence what is to be seen. */
  heading(title: string, about?: string): void;
  /** Shows a task until it is done; rejects as the work does. */
  task<T>(title: string, work: Promise<T>, outcome?: (result: T) => string): Promise<T>;
  /** A line that the next call replaces; nothing where there is no terminal. */
  live(text: string): void;
}

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const clearLine = "\r\x1b[2K";

export function createScreen(out: NodeJS.WriteStream = process.stdout): Screen {
  const terminal = out.isTTY === true;
  const width = Math.max(72, Math.min(120, terminal ? out.columns : 110));
  const underWay = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let frame = 0;

  let blank = false;
  const line = (text = ""): void => {
    // Never two empty lines together.
    if (text === "" && blank) return;
    blank = text === "";
    out.write(`${terminal ? clearLine : ""}${text}\n`);
  };
  const live = (text: string): void => {
    if (terminal) out.write(`${clearLine}${text}`);
  };

  function draw(): void {
    if (underWay.size === 0) return;
    const oldest = Math.min(...underWay.values());
    const spinner = pc.cyan(frames[frame++ % frames.length] ?? "");
    live(`  ${spinner} ${cut([...underWay.keys()].join(", "), width - 16)} ${pc.dim(seconds(Date.now() - oldest))}`);
  }

  async function task<T>(title: string, work: Promise<T>, outcome: (result: T) => string = () => ""): Promise<T> {
    const started = Date.now();
    underWay.set(title, started);
    if (terminal) timer ??= setInterval(draw, 100);
    const end = (mark: string, rest: string): void => {
      underWay.delete(title);
      if (underWay.size === 0) {
        clearInterval(timer);
        timer = undefined;
      }
      const took = seconds(Date.now() - started).padStart(7);
      line(
        `  ${mark} ${pc.dim(took)}  ${title}${rest === "" ? "" : pc.dim(`  ${cut(rest, width - title.length - 14)}`)}`,
      );
      draw();
    };
    try {
      const result = await work;
      end(pc.green("✓"), outcome(result));
      return result;
    } catch (error) {
      end(pc.red("✗"), "");
      throw error;
    }
  }

  return {
    width,
    line,
    live,
    task,
    heading(title, about) {
      line();
      line(pc.bold(title));
      if (about !== undefined) for (const part of wrap(about, width)) line(pc.dim(part));
      line();
    },
  };
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/**
 * One line of at most `width` characters; control characters, which models may answer with, are
 * left out.
 */
export function cut(text: string, width: number): string {
  const line = text.replace(/\s+/g, " ").replace(/[\u0000-\u001f\u007f-\u009f]/g, "");
  return line.length > width ? `${line.slice(0, Math.max(0, width - 1))}…` : line;
}

/** Words in lines of at most `width` characters. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
