// Changes a batch where the broker has it on disk, as a failing disk or a broker of another version
// would: brokers refuse to take such a batch, and send out what they have without a look.
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { stackFolder } from "../../stack/folder.ts";
import { testStack } from "./stack.ts";

/** The batch that begins at the offset; `change` gets its bytes, and must keep their number. */
export async function damage(
  topic: string,
  partition: number,
  offset: number,
  change: (batch: Buffer) => unknown,
): Promise<void> {
  const folder = join(stackFolder(testStack().folder).data, "kafka", "segments", `${topic}-${partition}`);
  const [segment] = (await readdir(folder)).filter((name) => name.endsWith(".log")).sort();
  const file = await open(join(folder, segment ?? ""), "r+");
  try {
    const bytes = await file.readFile();
    for (let at = 0; at + 12 <= bytes.length;) {
      const length = 12 + bytes.readInt32BE(at + 8);
      const batch = bytes.subarray(at, at + length);
      if (Number(batch.readBigInt64BE(0)) === offset) {
        change(batch);
        await file.write(batch, 0, length, at);
        return;
      }
      at += length;
    }
    throw new Error(`${topic}-${partition} has no batch at ${offset}`);
  } finally {
    await file.close();
  }
}
