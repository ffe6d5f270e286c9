// The stream of serve: shell requests and word problems, shuffled, each once and each in its
// domain; and the pool of examples, the data's own answers. The data stays where it is: what is
// kept of a request is its position and a hash.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { exampleId, sharingDomain } from "../../algorithms/identity/identity.ts";
import { answerCode } from "../../algorithms/text/answer-code.ts";
import { bestTokenF1 } from "../../algorithms/text/token-f1.ts";
import type { Example } from "../../schemas/types.ts";
import { demoTenant } from "../../tools/demo/sample-data.ts";
import type { BenchContext } from "../benchmark.ts";
import { embeddings } from "../loop/history.ts";
import { dataFolder } from "../support/data-file.ts";
import { importedExample } from "../support/examples.ts";
import { type Pair, readLines, shuffled } from "../support/samples.ts";

export const seed = 20_261_126;
export const domains = ["nl2bash", "gsm8k"] as const;
export type Domain = (typeof domains)[number];

export interface Item {
  /** In the shuffled stream. */
  position: number;
  domain: Domain;
  request: string;
  /** SHA-256 of the request, its first 12 hexadecimal digits. */
  hash: string;
  /** [0, 1]; of a word problem by the number behind the last ####. */
  score(answer: string): number;
  /** The same, but any last number counts where there is no ####: \boxed{7}, 7 apples. */
  lenient(answer: string): number;
}

const fileOf = (domain: Domain, part: "dev" | "train"): string => join(dataFolder(), `${domain}-${part}.jsonl`);

/** Files of the data that are not there. */
export const missingFiles = (): string[] =>
  domains.flatMap((domain) => [fileOf(domain, "dev"), fileOf(domain, "train")]).filter((file) => !existsSync(file));

const hashOf = (request: string): string => createHash("sha256").update(request).digest("hex").slice(0, 12);

/** All requests in their fixed random order. */
export async function readStream(): Promise<Item[]> {
  const shell = await readLines<{ request: string; references: string[] }>(fileOf("nl2bash", "dev"));
  const problems = await readLines<{ request: string; answer: string }>(fileOf("gsm8k", "dev"));
  const all: Omit<Item, "position" | "hash">[] = [
    ...shell.map(({ request, references }) => {
      const score = (answer: string): number => bestTokenF1(answerCode(answer), references);
      return { domain: "nl2bash" as const, request, score, lenient: score };
    }),
    ...problems.map(({ request, answer: right }) => {
      const is = (found: number | null): number => (found === Number(right.replaceAll(",", "")) ? 1 : 0);
      return {
        ...{ domain: "gsm8k" as const, request },
        score: (answer: string) => is(finalNumber(answer)),
        lenient: (answer: string) => is(finalNumber(answer) ?? lastNumber(answer)),
      };
    }),
  ];
  return shuffled(all, seed).map((item, position) => ({ ...item, position, hash: hashOf(item.request) }));
}

const numberPattern = /(?<!\d)-?(?:\d[\d,]*(?:\.\d+)?|\.\d+)/g;
const numberOf = (text: string): number => Number(text.replaceAll(",", ""));

/** The first number behind the last ####; null: there is none. */
export function finalNumber(answer: string): number | null {
  const from = answer.lastIndexOf("####");
  const found = from === -1 ? undefined : answer.slice(from).match(numberPattern)?.[0];
  return found === undefined ? null : numberOf(found);
}

/** The last number of an answer, such as \boxed{7} or "are 7 apples."; null: there is none. */
export function lastNumber(answer: string): number | null {
  const found = answer.match(numberPattern)?.at(-1);
  return found === undefined ? null : numberOf(found);
}

/** The training pairs of both domains. Embeddings are computed once and kept. */
export async function readPool(context: Pick<BenchContext, "folder" | "progress">): Promise<Example[]> {
  const of = async (domain: Domain): Promise<Example[]> => {
    const pairs = await readLines<Pair>(fileOf(domain, "train"));
    const { model, vectors } = await embeddings(
      pairs.map(({ request }) => request),
      context,
    );
    const pool = { tenant: demoTenant, domain: sharingDomain(demoTenant, domain), embeddingModel: model, createdAt: 0 };
    return pairs.map((pair, i) => importedExample(pair, vectors[i]!, pool));
  };
  return [...(await of("nl2bash")), ...(await of("gsm8k"))];
}

const ofDomain = (pool: readonly Example[], domain: string): Example[] =>
  pool.filter((example) => example.domain === sharingDomain(demoTenant, domain));

/** Some of a domain's examples, always the same at random. */
const some = (pool: readonly Example[], domain: Domain, count: number): Example[] =>
  shuffled(ofDomain(pool, domain), seed).slice(0, count);

/** What makes a pool smaller. */
export interface Smaller {
  /** So many of a domain's examples. */
  count: number;
  /** With the large model's answers. */
  written: boolean;
}

/** The domain that requests name for such a pool. */
export const smallerDomain = (domain: Domain, { count, written }: Smaller): string =>
  `${domain}-${written ? "written-" : ""}${count}`;

export function smallerPool(pool: readonly Example[], domain: Domain, smaller: Smaller): Example[] {
  const sharing = sharingDomain(demoTenant, smallerDomain(domain, smaller));
  return some(pool, domain, smaller.count).map((example) => ({
    ...example,
    domain: sharing,
    id: exampleId(sharing, example.request, example.response),
  }));
}

/** A system prompt with examples that are the same for every request. */
export const withFixed = (system: string, pool: readonly Example[], domain: Domain, count: number): string =>
  [
    `${system} Examples:`,
    ...some(pool, domain, count).map(({ request, response }) => `Request: ${request}\nAnswer: ${response}`),
  ].join("\n\n");
