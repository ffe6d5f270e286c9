// The demo's data: pairs that are its history, and questions with the answers that count as right.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { exampleId, sharingDomain } from "../../algorithms/identity/identity.ts";

export const demoTenant = "default";
export const demoDomain = "shell";
/** The arm that the system is compared with, in both configurations of the demo. */
export const largeArm = "large";
/** In the metadata of the demo's requests, so that queries find them. */
export const demoClient = "npm run demo";

export const pairsFile = fileURLToPath(new URL("../../deploy/shell-pairs.jsonl", import.meta.url));
const questionsFile = fileURLToPath(new URL("../../deploy/shell-questions.jsonl", import.meta.url));

const pair = z.object({ request: z.string(), response: z.string() });
// Two wordings of the same question: what was learned from the first should help with the second.
const question = z.object({ request: z.string(), again: z.string(), references: z.array(z.string()).min(1) });
export type SamplePair = z.infer<typeof pair> & { id: string };
export type Question = z.infer<typeof question>;

export interface SampleData {
  pairs: SamplePair[];
  questions: Question[];
  /** By id of the example. */
  pairById: ReadonlyMap<string, SamplePair>;
}

export function readSampleData(): SampleData {
  const domain = sharingDomain(demoTenant, demoDomain);
  const pairs = lines(pairsFile, pair).map((each) => ({ ...each, id: exampleId(domain, each.request, each.response) }));
  return { pairs, questions: lines(questionsFile, question), pairById: new Map(pairs.map((each) => [each.id, each])) };
}

function lines<T>(file: string, schema: z.ZodType<T>): T[] {
  const text = readFileSync(file, "utf8").trimEnd();
  return text.split("\n").map((line) => schema.parse(JSON.parse(line)));
}
