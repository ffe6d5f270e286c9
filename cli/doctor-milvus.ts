// Checks Milvus: its address, whose vectors it holds, and whether curate keeps it.
import type { Config } from "../config/schema.ts";
import { openEmbedder } from "../pipelines/embedder.ts";
import { openCollection } from "../pipelines/remote-examples.ts";
import { createLog } from "../runtime/log.ts";
import { stateKeys, staleMs, stateOf } from "../state/examples/remote/rows.ts";
import type { Check } from "./doctor-check.ts";

const limitMs = 5_000;

/** Rejects as the collection does. */
export async function checkMilvus(config: Config, now: number): Promise<Omit<Check, "name">> {
  const { address, collection: name } = config.selection.milvus ?? {};
  const collection = await openCollection(config);
  try {
    const { version, collection: found } = await collection.facts();
    const where = `${address} (${version}), collection ${name}`;
    const comes = "curate makes it: see that its process runs";
    if (found === null) return { state: "waiting", detail: `${where}: not there yet`, remedy: comes };
    const state = stateOf(await collection.read(stateKeys, { timeoutMs: limitMs, strong: false }));
    if (state === null) return { state: "waiting", detail: `${where}: does not say yet what it holds`, remedy: comes };
    const embedder = await openEmbedder(config, { log: createLog({ level: "silent" }) });
    await embedder.close();
    const anew = "curate writes all examples anew when it starts: restart it";
    if (state.model !== embedder.model || found.dimension !== embedder.dimension)
      return {
        state: "lacking",
        detail: `${where}: ${found.dimension} numbers of ${state.model}, requests have ${embedder.dimension} of ${embedder.model}`,
        remedy: anew,
      };
    if (now - state.at > staleMs)
      return { state: "lacking", detail: `${where}: no curate process has kept it for a day`, remedy: anew };
    const unfilled = state.partitions.filter(({ filled }) => !filled).length;
    const examples = `${Math.max(0, found.rows - stateKeys.length)} examples`;
    return unfilled > 0
      ? { state: "waiting", detail: `${where}: ${examples}, ${unfilled} partitions to read`, remedy: comes }
      : { state: "fine", detail: `${where}: ${examples}, ${found.dimension} numbers of ${state.model}` };
  } finally {
    await collection.close();
  }
}
