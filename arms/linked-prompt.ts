// A prompt in pieces to tokens, cut where a chunk ends that can be cached: the system prompt, each document piece, each example. The template of the
// model puts them together; where it does so in a way that can't be followed (it moves a message, or alters more of it than the white space around it), nothing is cut and nothing linked.
// What users write never becomes a control token. Text is tokenised piece by piece, so a chunk has the same tokens in every prompt.
import type { Piece } from "../schemas/types.ts";
import { type ChatMessage, messageParts } from "./messages.ts";

/** What a template makes of messages: what users and models wrote, and what the template put around it. */
export type Rendered = readonly { kind: "text" | "template"; text: string }[];

export interface PromptTokenizer {
  /** Ends where the answer begins. */
  render(messages: readonly ChatMessage[]): Rendered;
  /** control: texts of control tokens become these tokens. Without BOS. */
  tokenize(text: string, control: boolean): readonly number[];
  /** Whether this token ends a turn. */
  isEnd(token: number): boolean;
  /** Whether it is white space and nothing else. */
  isBlank(token: number): boolean;
}

export interface PromptChunk {
  kind: "system" | "document" | "example";
  id: string | null;
  tokens: number[];
}

export interface ChunkedPrompt {
  /** From the first token of the prompt on, each behind the other. */
  chunks: PromptChunk[];
  /** What follows them: the conversation, to where the answer begins. */
  tail: readonly number[];
}

export function chunkPrompt(pieces: readonly Piece[], tokenizer: PromptTokenizer): ChunkedPrompt {
  const messages = messageParts(pieces);
  const contents = messages.map(({ parts }) => parts.map(({ text }) => text).join(""));
  const rendered = tokenizer.render(messages.map(({ role }, index) => ({ role, content: contents[index]! })));
  const texts = rendered.filter(({ kind }) => kind === "text");
  if (
    texts.length !== messages.length ||
    texts.some(({ text }, index) => text !== contents[index] && text !== contents[index]!.trim())
  ) {
    const tail = rendered.flatMap(({ kind, text }) => tokenizer.tokenize(text, kind === "template"));
    return { chunks: [], tail };
  }

  const owners = ownersOf(pieces);
  const chunks: PromptChunk[] = [];
  const tail: number[] = [];
  let current: Owner | null = null;
  const put = (owner: Owner, tokens: readonly number[]): void => {
    // Once something belongs to no chunk nothing behind it does: chunks stand at the beginning.
    if (current?.kind === "conversation" || owner.kind === "conversation") {
      current = conversation;
      tail.push(...tokens);
      return;
    }
    if (owner === current) chunks.at(-1)!.tokens.push(...tokens);
    else if (tokens.length > 0) chunks.push({ ...owner, tokens: [...tokens] });
    current = owner;
  };
  let next = 0;
  for (const { kind, text } of rendered) {
    if (kind === "text") {
      // Many templates trim what they are given.
      const trimmed = text !== contents[next];
      const { parts } = messages[next++]!;
      for (const [index, part] of parts.entries()) {
        const start = trimmed && index === 0 ? part.text.trimStart() : part.text;
        const whole = trimmed && index === parts.length - 1 ? start.trimEnd() : start;
        put(owners.get(part.piece)!, tokenizer.tokenize(whole, false));
      }
      continue;
    }
    const tokens = tokenizer.tokenize(text, true);
    const before = messages[next - 1]?.parts.at(-1)?.piece;
    const after = messages[next]?.parts[0]?.piece;
    const [from, to] = [before, after].map((piece) => (piece === undefined ? undefined : owners.get(piece)));
    // The turn that ends here belongs to what it ends, and the one that begins to what it begins.
    const cut = endOfTurn(tokens, tokenizer);
    if (to === undefined) put(conversation, tokens);
    else if (from === to) put(to, tokens);
    else if (from === undefined && (cut === 0 || to.kind === "system")) put(to, tokens);
    // No turn ends: what begins here can't be told apart from what is before.
    else if (cut === 0) put(conversation, tokens);
    else {
      // In front of the first message: a system prompt of the template's own.
      put(from ?? { kind: "system", id: null }, tokens.slice(0, cut));
      put(to, tokens.slice(cut));
    }
  }
  return { chunks, tail };
}

type Owner = Omit<PromptChunk, "tokens"> | typeof conversation;
const conversation = { kind: "conversation", id: null } as const;

/** Which chunk each piece belongs to: all system texts to one, each document piece to its own, the pieces of an example to one. */
function ownersOf(pieces: readonly Piece[]): Map<Piece, Owner> {
  const owners = new Map<Piece, Owner>();
  let previous: Piece | undefined;
  let owner: Owner | undefined;
  for (const piece of pieces) {
    const { kind, id } = piece;
    const same = previous?.kind === kind && (kind === "system" || (kind === "example" && previous.id === id));
    if (owner === conversation || kind === "turn" || kind === "guidance") owner = conversation;
    else if (!same || owner === undefined) owner = { kind, id };
    owners.set(piece, owner);
    previous = piece;
  }
  return owners;
}

/** Index behind the last token that ends a turn and the white space after it; 0: no turn ends. */
function endOfTurn(tokens: readonly number[], { isEnd, isBlank }: PromptTokenizer): number {
  let cut = tokens.findLastIndex(isEnd) + 1;
  while (cut > 0 && cut < tokens.length && isBlank(tokens[cut]!)) cut++;
  return cut;
}
