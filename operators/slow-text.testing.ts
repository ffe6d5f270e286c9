// The worker of slow-text.test.ts: everything that production code does to texts of users, by name.
import { canonicalHash, canonicalText } from "../algorithms/text/canonical.ts";
import { createFeatures } from "../algorithms/routing/features.ts";
import { isSafe, traitsOf } from "../algorithms/selection/example-traits.ts";
import { createHelpfulnessFeatures } from "../algorithms/selection/helpfulness-features.ts";
import { exampleId, sharingDomain } from "../algorithms/identity/identity.ts";
import { replacePersonalData } from "../algorithms/privacy/pii.ts";
import { cutText, splitText } from "../algorithms/text/split.ts";
import { hashTokens, literalsIn, literalsOf, overlapF1 } from "../algorithms/text/text-overlap.ts";
import { tokenF1 } from "../algorithms/text/token-f1.ts";
import { estimateTokens } from "../algorithms/text/tokens.ts";
import { chatMessages } from "../arms/messages.ts";
import { createChat } from "../connections/llama/chat.ts";
import type { ModelFacts } from "../connections/llama/port.ts";
import { serveCalls } from "../connections/worker/rpc.ts";
import { templates } from "../arms/templates.ts";
import { comparisonPrompt, readVerdict } from "../algorithms/routing/comparison.ts";

const vector = Float32Array.of(1, 0, 0, 0);
const candidate = (text: string) => ({
  ...{ request: text, response: text, vector, similarity: 1, quality: 1, sourceCost: 1, uses: 1, outcome: 1 },
});
const asking = (text: string) => ({
  messages: [{ role: "user" as const, content: text }],
  system: text,
  examples: [{ id: "e", request: text, response: text }],
});
const chatml = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>{% endfor %}";
const characters = (text: string): Int32Array => Int32Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
const chat = createChat({
  facts: { name: "test", chatTemplate: chatml, bos: -1, eos: -1, addBos: false } as ModelFacts,
  tokenize: characters,
  detokenize: () => "",
});

const work = {
  splitByMeaning: (text: string) => splitText(text, "meaning", 512),
  splitBySize: (text: string) => splitText(text, "size", 512),
  cutAtLengths: (text: string) => cutText(text, 512),
  replacePersonalData: (text: string) => replacePersonalData([text, text], { ipAddresses: true }),
  canonicalText,
  canonicalHash: (text: string) =>
    canonicalHash({
      messages: [{ role: "user", content: text }],
      documents: [],
      params: { maxTokens: 1, temperature: null, topP: null, seed: null, stop: [] },
      allow: { arms: null, maxCost: null, costWeight: null, deadlineMs: null },
    }),
  identity: (text: string) => [exampleId(text, text, text), sharingDomain(text, text)],
  tokenF1: (text: string) => tokenF1(text, text),
  estimateTokens,
  textOverlap: (text: string) => [overlapF1(hashTokens(text), hashTokens(text)), literalsIn(literalsOf(text), text)],
  features: (text: string) =>
    createFeatures()({ question: text, promptCharacters: text.length, messages: 1, embedding: null, examples: [] }),
  helpfulnessFeatures: (text: string) =>
    createHelpfulnessFeatures()({ text, vector }, [candidate(text), candidate(`${text}.`)], [{ cost: 1 }]).all(),
  chatTurns: (text: string) => chatMessages(templates["chat-turns"].pieces(asking(text))),
  guided: (text: string) => chatMessages(templates.guided.pieces(asking(text))),
  comparison: (text: string) => comparisonPrompt(text, text, text),
  verdict: readVerdict,
  screen: (text: string) => isSafe({ request: text, response: text }),
  exampleTraits: (text: string) => traitsOf({ request: text, response: text }, vector),
  chatTemplate: (text: string) => chat([{ role: "user", content: text }]),
  // Many small turns instead of one large one.
  chatTemplateOfTurns: (text: string) =>
    chat(Array.from(text.slice(0, 4_096), (content, i) => ({ role: i % 2 === 0 ? "user" : "assistant", content }))),
};
export type TextWork = keyof typeof work;

export interface SlowTextMethods {
  names(argument: null): TextWork[];
  run(call: { work: TextWork; text: string }): void;
}

serveCalls<SlowTextMethods>({
  names: () => Object.keys(work) as TextWork[],
  run({ work: name, text }) {
    work[name](text);
  },
});
