// A process for the test of a kill while blobs are stored: it stores blobs in a loop, and reports
// when the first is on disk.
import { anEntry, aStore } from "./values.testing.ts";

const [root = ""] = process.argv.slice(2);
const store = await aStore({ root, memoryBytes: 64 * 1_048_576, diskBytes: 256 * 1_048_576 });
for (let n = 0; ; n = (n + 1) % 200) {
  await store.put(anEntry(n), new Uint8Array(1_048_576).fill(n));
  if (n % 2 === 0) await store.flush();
  if (n === 2) process.stdout.write("storing\n");
}
