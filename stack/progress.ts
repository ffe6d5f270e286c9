// Progress of set-up on stderr: a bar in a terminal, elsewhere a line every ten seconds.
import { SingleBar } from "cli-progress";

export interface Progress {
  /** Part done, in the unit given at the start; may go past the total, which is an estimate. */
  update(done: number): void;
  finish(): void;
}

/** `say` gets the lines instead; then no bar is drawn. */
export function startProgress(title: string, total: number, unit: string, say?: (line: string) => void): Progress {
  if (process.stderr.isTTY && say === undefined) {
    const bar = new SingleBar({
      format: `${title} [{bar}] {value}/{total} ${unit}, {eta_formatted} left`,
      stream: process.stderr,
    });
    bar.start(total, 0);
    return {
      update: (done) => bar.update(Math.min(Math.floor(done), total)),
      finish() {
        bar.update(total);
        bar.stop();
      },
    };
  }
  const write = say ?? ((line: string): void => void process.stderr.write(`${line}\n`));
  write(`${title} ...`);
  const started = performance.now();
  let written = started;
  return {
    update(done) {
      if (performance.now() - written < 10_000) return;
      written = performance.now();
      const leftMinutes = Math.ceil((((written - started) / 60_000) * Math.max(0, total - done)) / Math.max(done, 1));
      write(`${title}: ${Math.floor(done)} of about ${total} ${unit}, about ${leftMinutes} min left`);
    },
    finish: () => {
      write(`${title}: done in ${((performance.now() - started) / 1000).toFixed(0)} s`);
    },
  };
}
