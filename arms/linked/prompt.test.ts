import { describe, expect, it } from "vitest";
import { createChat } from "../../connections/llama/chat.ts";
import type { ModelFacts } from "../../connections/llama/port.ts";
import type { Piece } from "../../schemas/types.ts";
import { chunkPrompt } from "./prompt.ts";

const chatMl =
  "{% for m in messages %}{{'<' + m['role'] + '\n' + m['content'] + '>' + '\n'}}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<assistant\n' }}{% endif %}";
// A token a character.
const chatOf = (chatTemplate = chatMl) =>
  createChat({
    facts: { name: "test", chatTemplate, bos: -1, eos: -1, addBos: false } as ModelFacts,
    tokenize: (text) => Int32Array.from(text, (character) => character.codePointAt(0) ?? 0),
    detokenize: (tokens) => String.fromCodePoint(...tokens),
  });

const piece = (kind: Piece["kind"], role: Piece["role"], text: string, id: string | null = null): Piece => ({
  ...{ kind, id, role, text },
});
const example = (id: string): Piece[] => [
  piece("example", "user", `q${id}`, id),
  piece("example", "assistant", `a${id}`, id),
];
const system = piece("system", "system", "sys");
const question = piece("turn", "user", "the question");
function shown(pieces: readonly Piece[], template?: string) {
  const { tokens, chunks } = chunkPrompt(pieces, chatOf(template), "sys");
  const text = (begin: number, end?: number): string => String.fromCodePoint(...tokens.slice(begin, end));
  for (const [index, { begin }] of chunks.entries()) expect(begin).toBe(chunks[index - 1]?.end ?? 0);
  return { chunks: chunks.map(({ begin, end }) => text(begin, end)), tail: text(chunks.at(-1)?.end ?? 0), all: chunks };
}
const tail = "<user\nthe question>\n<assistant\n";

describe("chunkPrompt", () => {
  it("cuts where turns end: system prompt, examples, conversation", () => {
    const { all, ...found } = shown([system, ...example("1"), ...example("2"), question]);
    const chunks = ["<system\nsys>\n", "<user\nq1>\n<assistant\na1>\n", "<user\nq2>\n<assistant\na2>\n"];
    expect(found).toEqual({ chunks, tail });
    expect(all.map(({ kind, id }) => [kind, id])).toEqual([
      ["system", null],
      ["example", "1"],
      ["example", "2"],
    ]);
  });

  it("tells the arm's own system prompt from one that a request brings", () => {
    const configured = (...pieces: Piece[]) => shown(pieces).all.map((chunk) => chunk.configured);
    expect(configured(system, ...example("1"), question)).toEqual([true, false]);
    expect(configured(piece("system", "system", "its own"), question)).toEqual([false]);
    expect(configured(system, piece("system", "system", "and more"), question)).toEqual([false]);
  });

  it("gives an example the same tokens wherever it stands", () => {
    const one = shown([system, ...example("1"), ...example("2"), question]).chunks;
    const other = shown([system, ...example("2"), ...example("1"), question]).chunks;
    expect(other).toEqual([one[0], one[2], one[1]]);
    expect(shown([...example("2"), question]).chunks).toEqual([one[2]]);
  });

  it("cuts each piece of a document, within the turn that it shares with the system prompt", () => {
    const documents = [piece("document", "system", "one", "d"), piece("document", "system", "two", "d")];
    const more = piece("system", "system", "more");
    const found = shown([system, more, ...documents, ...example("1"), question]);
    expect(found.all.map(({ text }) => text)).toEqual([undefined, "one", "two", undefined]);
    expect(found).toMatchObject({
      chunks: ["<system\nsys\n\nmore", "\n\none", "\n\ntwo>\n", "<user\nq1>\n<assistant\na1>\n"],
      tail,
    });
  });

  it("says where the turns of the conversation end, unless examples stand before them", () => {
    const answered = [question, piece("turn", "assistant", "so"), piece("turn", "user", "and")];
    const ends = (...pieces: Piece[]): string[] => {
      const { tokens, turnEnds } = chunkPrompt(pieces, chatOf(), "sys");
      return turnEnds.map((end) => String.fromCodePoint(...tokens.slice(0, end)));
    };
    const begin = "<system\nsys>\n<user\nthe question>\n";
    expect(ends(system, ...answered)).toEqual([
      begin,
      `${begin}<assistant\nso>\n`,
      `${begin}<assistant\nso>\n<user\nand>\n`,
    ]);
    expect(ends(system, ...example("1"), ...answered)).toEqual([]);
  });

  it("keeps what follows the question in the conversation, examples in guidance too", () => {
    expect(shown([system, piece("guidance", "user", "g"), ...example("1"), question]).chunks).toHaveLength(1);
    expect(shown([question])).toMatchObject({ chunks: [], tail });
  });

  it("cuts nothing where the template mixes messages", () => {
    const mixing = "{{ messages | length }}{% for m in messages %}{{ m['content'] }}{% endfor %}";
    expect(shown([system, ...example("1"), question], mixing)).toMatchObject({
      chunks: [],
      tail: "4sysq1a1the question",
    });
  });
});
