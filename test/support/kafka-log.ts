// Fails a test whose broker had one of two known defects: it dropped a transaction marker
// (KAFKA-20734), or its group coordinator worked with a state that was read in part
// (docs/stack.md). What comes of them shows itself only later, or elsewhere.
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect } from "vitest";
import { stackFolder } from "../../stack/folder.ts";
import { readState } from "../../stack/state.ts";

// A file's time comes from a clock that moves every few milliseconds only: what was written just
// after the start may bear a time just before it.
const clockStepMs = 100;
const signs = ["likely deleted already", "is out of sync with the underlying log"];

/**
 * Lines of the running stack's kafka.log that tell of a defect, and of what was moved to
 * kafka.log.1 since it runs.
 */
export async function brokerDefects(folder: string): Promise<string[]> {
  const { logs, state } = stackFolder(folder);
  const startedAt = Date.parse(readState(state)?.startedAt ?? "") || 0;
  const textOf = async (name: string): Promise<string> => {
    const file = join(logs, name);
    try {
      return (await stat(file)).mtimeMs + clockStepMs < startedAt ? "" : await readFile(file, "utf8");
    } catch {
      return "";
    }
  };
  const texts = await Promise.all(["kafka.log.1", "kafka.log"].map(textOf));
  return texts.flatMap((text) => text.split("\n").filter((line) => signs.some((sign) => line.includes(sign))));
}

/**
 * Checks after every test of the file. The folder is asked for then, because a test makes it in
 * beforeAll.
 */
export function noBrokerDefects(folder: () => string): void {
  afterEach(async () => {
    expect(
      await brokerDefects(folder()),
      "the broker dropped a transaction marker, or forgot committed positions",
    ).toEqual([]);
  });
}
