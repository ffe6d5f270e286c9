// A command as its user runs it, for tests: what it ends with and what it says.
import { StringDecoder } from "node:string_decoder";
import { printing, type Io } from "./io.ts";
import { runProgram } from "./run.ts";

export interface CapturedOutput {
  /** Exit code. */
  code: number;
  out: string;
  note: string;
}

/**
 * In the folder `cwd`, whose precedent.yaml it reads, with no other environment than the one given.
 */
export async function runCommand(
  cwd: string,
  argv: readonly string[],
  environment: Io["environment"] = {},
): Promise<CapturedOutput> {
  const reported = { out: "", note: "" };
  const decoder = new StringDecoder();
  const io: Io = printing({
    out: (text) => void (reported.out += text),
    data: (bytes) => Promise.resolve(void (reported.out += decoder.write(bytes))),
    note: (text) => void (reported.note += text),
    ...{ environment, cwd, signal: new AbortController().signal },
  });
  return { code: await runProgram(argv, io), ...reported };
}
