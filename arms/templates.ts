// How a prompt is laid out (docs/design/selection.md, Templates). A template turns a conversation
// and the examples of an arm into pieces; its name and version are recorded with every decision, so
// a change of a layout is a new version. Pure.
// - chat-turns: system, examples as chat turns in their order, then the conversation. A
//   piece is what can be cached and linked on its own, so nothing of the request may leak into an
//   example's piece.
// - guided: IC-Cache Fig. 24: the question, the examples as guidance that may be ignored, the
//   question again, all in one user turn. Not linkable: an example's tokens follow those of the
//   question.
// What an example says stays the example's: chat turns are turns of their own, and in a guided
// prompt every line of an example is indented, so that no text can pass for one of the headings.
import { estimateTokens, tokensPerTurn } from "../algorithms/text/tokens.ts";
import type { Message, Piece } from "../schemas/types.ts";

export type TemplateName = "chat-turns" | "guided";

export interface Conversation {
  messages: readonly Message[];
  system: string | undefined;
  examples: readonly { id: string; request: string; response: string }[];
}

export interface Template {
  readonly id: string;
  /** Whether its example pieces are the same in every prompt that has them. */
  readonly linkable: boolean;
  pieces(conversation: Conversation): Piece[];
  /** Estimated tokens that it adds to the conversation itself before any example. */
  overhead(question: string): number;
}

export const templates: Readonly<Record<TemplateName, Template>> = {
  "chat-turns": { id: "chat-turns/1", linkable: true, pieces: chatTurns, overhead: () => 0 },
  guided: {
    id: "guided/1",
    linkable: false,
    pieces: guided,
    overhead: (question) => estimateTokens(question) + guidanceTokens,
  },
};

const turn = ({ role, content }: Message): Piece => ({ kind: "turn", id: null, role, text: content });

function opening(messages: readonly Message[], system: string | undefined): { systems: Piece[]; rest: Message[] } {
  const firstTurn = messages.findIndex(({ role }) => role !== "system");
  const start = firstTurn < 0 ? messages.length : firstTurn;
  const own = messages.slice(0, start).map(({ content }) => content);
  const texts = own.length > 0 ? own : system === undefined || system === "" ? [] : [system];
  const systems = texts.map((text): Piece => ({ kind: "system", id: null, role: "system", text }));
  return { systems, rest: messages.slice(start) };
}

function chatTurns({ messages, system, examples }: Conversation): Piece[] {
  const { systems, rest } = opening(messages, system);
  return [
    ...systems,
    ...examples.flatMap(({ id, request, response }): Piece[] => [
      { kind: "example", id, role: "user", text: request },
      { kind: "example", id, role: "assistant", text: response },
    ]),
    ...rest.map(turn),
  ];
}

const before = "Below is an instruction that describes a task:";
const consider =
  "Below are examples of instructions and responses, their lines indented. Consider for each of them:\n" +
  "Relevance: does it directly relate to the task? If not, complete the task without relying on it.\n" +
  "Quality: is it clear and detailed? If so, you may follow its format and style.\n" +
  "Helpfulness: does it hold information that is relevant to the task? If so, you may use it.";
const again =
  "The examples are resources to guide you, not strict templates to follow, and you may ignore them. If the instruction is very similar to " +
  "one of them, you can follow it. Write a response that appropriately completes the task.\n\n" +
  "Below is the instruction that describes the task again:";
const guidanceTokens = [before, consider, again].reduce((sum, text) => sum + estimateTokens(text), tokensPerTurn);

/** Without examples the conversation is unchanged: there is nothing to guide. */
function guided(conversation: Conversation): Piece[] {
  const { messages, system, examples } = conversation;
  const { systems, rest } = opening(messages, system);
  const last = rest.findLastIndex(({ role }) => role === "user");
  const question = rest[last];
  if (examples.length === 0 || question === undefined) return chatTurns(conversation);
  const guidance = (text: string): Piece => ({ kind: "guidance", id: null, role: "user", text });
  return [
    ...systems,
    ...rest.slice(0, last).map(turn),
    guidance(`${before}\n${question.content}`),
    guidance(consider),
    ...examples.map(({ id, request, response }, index): Piece => {
      const text = `Example ${index + 1}\nInstruction:\n${indented(request)}\nResponse:\n${indented(response)}`;
      return { kind: "example", id, role: "user", text };
    }),
    guidance(again),
    // The question as it was asked stands last and alone: a log is looked up by it.
    ...rest.slice(last).map(turn),
  ];
}

/** Every line break that some reader takes for one. */
const lineBreaks = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;
const indented = (text: string): string =>
  text
    .split(lineBreaks)
    .map((line) => `    ${line}`)
    .join("\n");
