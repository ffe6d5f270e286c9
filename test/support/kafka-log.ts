// Fails a test whose broker dropped a transaction marker (KAFKA-20734): what hangs because of it shows itself only later, or elsewhere.
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect } from "vitest";
import { stackFolder } from "../../stack/folder.ts";
import { readState } from "../../stack/state.ts";

const dropped = "likely deleted already";

/** Lines of the running stack's kafka.log that tell of dropped markers, and of what was moved to kafka.log.1 since it runs. */
export async function lostMarkers(folder: string): Promise<string[]> {
  const { logs, state } = stackFolder(folder);
  const startedAt = Date.parse(readState(state)?.startedAt ?? "") || 0;
  const textOf = async (name: string): Promise<string> => {
    const file = join(logs, name);
    try {
      return (await stat(file)).mtimeMs < startedAt ? "" : await readFile(file, "utf8");
    } catch {
      return "";
    }
  };
  const texts = await Promise.all(["kafka.log.1", "kafka.log"].map(textOf));
  return texts.flatMap((text) => text.split("\n").filter((line) => line.includes(dropped)));
}

/** Checks after every test of the file. The folder is asked for then, because a test makes it in beforeAll. */
export function noLostMarkers(folder: () => string): void {
  afterEach(async () => {
    expect(await lostMarkers(folder()), "transaction markers that the broker dropped (KAFKA-20734)").toEqual([]);
  });
}
