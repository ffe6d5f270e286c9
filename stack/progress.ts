// Progress of set-up on stderr: a bar in a terminal, a line every ten seconds elsewhere (a log,
// CI).
import { SingleBar } from "cli-progress";

export interface Progress {
  /** Part done, in the unit given at the start; may go past the total, which is an estimate. */
  update(done: number): void;
  finish(): void;
}

export function startProgress(title: string, total: number, unit: string): Progress {
  if (process.stderr.isTTY) {
    const bar = new SingleBar({ format: `${title} [{bar}] {value}/{total} ${unit}`, stream: process.stderr });
    bar.start(total, 0);
    return {
      update: (done) => bar.update(Math.min(Math.floor(done), total)),
      finish() {
        bar.update(total);
        bar.stop();
      },
    };
  }
  process.stderr.write(`${title} ...\n`);
  const started = performance.now();
  let written = started;
  return {
    update(done) {
      if (performance.now() - written < 10_000) return;
      written = performance.now();
      process.stderr.write(`${title}: ${Math.floor(done)} of about ${total} ${unit}\n`);
    },
    finish: () => {
      process.stderr.write(`${title}: done in ${((performance.now() - started) / 1000).toFixed(0)} s\n`);
    },
  };
}
