// nl2bash for the ladder: a fixed random sample of the development requests, and the training pairs
// as the pool of examples. Embeddings are computed once and kept.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import { demoDomain, demoTenant } from "../../tools/demo/sample-data.ts";
import type { Example } from "../../schemas/types.ts";
import type { BenchContext } from "../benchmark.ts";
import { embeddings } from "../loop/history.ts";
import { importedExample } from "../support/examples.ts";
import { readLines, shuffled } from "../support/samples.ts";
import { dataFolder } from "../support/data-file.ts";

export interface Item {
  request: string;
  references: string[];
}

const seed = 20_261_121;

const files = (data: string | undefined) => {
  const folder = dataFolder();
  return { dev: data ?? join(folder, "nl2bash-dev.jsonl"), train: join(folder, "nl2bash-train.jsonl") };
};

/** What of the data is not there. */
export const missingData = (data: string | undefined): string[] =>
  Object.values(files(data)).filter((file) => !existsSync(file));

/** In their fixed random order. */
export const readItems = async (data: string | undefined): Promise<Item[]> =>
  shuffled(await readLines<Item>(files(data).dev), seed);

export async function readPool(context: Pick<BenchContext, "folder" | "progress">): Promise<Example[]> {
  const pairs = await readLines<{ request: string; response: string }>(files(undefined).train);
  const { model, vectors } = await embeddings(
    pairs.map(({ request }) => request),
    context,
  );
  const domain = sharingDomain(demoTenant, demoDomain);
  const of = { tenant: demoTenant, domain, embeddingModel: model, createdAt: 0 };
  return pairs.map((pair, i) => importedExample(pair, vectors[i]!, of));
}
