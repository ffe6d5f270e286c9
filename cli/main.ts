// The command `precedent`. Exit codes: 0 done, 1 failed, 2 used wrongly. --debug adds the stack.
import { once } from "node:events";
import { StringDecoder } from "node:string_decoder";
import { printable } from "../algorithms/text/printable.ts";
import { keepFilesPrivate } from "../stack/private.ts";
import { printing, type Io } from "./io.ts";
import { runProgram } from "./run.ts";

// Pools, caches and logs hold people's texts: what we write is our user's alone.
keepFilesPrivate();

const stopping = new AbortController();
let signals = 0;
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => {
    signals++;
    // The second one means it.
    if (signals > 1) process.exit(130);
    stopping.abort(new Error(`stopped by ${name}`));
  });
}
// `precedent sql ... | head` closes our output early: that is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? 0 : 1);
});

const decoder = new StringDecoder();
const io: Io = printing({
  out: (text) => void process.stdout.write(text),
  async data(bytes) {
    const isWritten = process.stdout.write(process.stdout.isTTY ? printable(decoder.write(bytes)) : bytes);
    if (!isWritten) await once(process.stdout, "drain", { signal: stopping.signal });
  },
  note: (text) => void process.stderr.write(text),
  environment: process.env,
  cwd: process.cwd(),
  signal: stopping.signal,
});

const code = await runProgram(process.argv.slice(2), io);
// Not by exhaustion: a driver's idle socket must not keep a finished command alive. Output is
// flushed first.
process.stdout.write("", () => process.stderr.write("", () => process.exit(code)));
