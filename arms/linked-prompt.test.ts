import { describe, expect, it } from "vitest";
import type { Piece } from "../schemas/types.ts";
import { chunkPrompt, type PromptTokenizer, type Rendered } from "./linked-prompt.ts";

// Tokens are characters, control tokens private ones: < begins a turn, > ends one.
const control = new Map([
  ["<", 0xe000],
  [">", 0xe001],
]);
const tokenize = (text: string, special: boolean): number[] =>
  Array.from(text, (character) => (special ? control.get(character) : undefined) ?? character.codePointAt(0)!);
const written = (tokens: readonly number[]): string =>
  tokens.map((token) => [...control].find(([, id]) => id === token)?.[0] ?? String.fromCodePoint(token)).join("");

const chatMl: PromptTokenizer["render"] = (messages) => {
  const rendered: { kind: "text" | "template"; text: string }[] = [];
  const template = (text: string): void => {
    const last = rendered.at(-1);
    if (last?.kind === "template") last.text += text;
    else rendered.push({ kind: "template", text });
  };
  if (messages[0]?.role !== "system") template("<system\nown>\n");
  for (const { role, content } of messages) {
    template(`<${role}\n`);
    rendered.push({ kind: "text", text: content });
    template(">\n");
  }
  template("<assistant\n");
  return rendered;
};
const tokenizer = (render: PromptTokenizer["render"] = chatMl): PromptTokenizer => ({
  ...{ render, tokenize, isEnd: (token) => token === control.get(">") },
  isBlank: (token) => String.fromCodePoint(token).trim() === "",
});

const piece = (kind: Piece["kind"], role: Piece["role"], text: string, id: string | null = null): Piece => ({
  ...{ kind, id, role, text },
});
const example = (id: string): Piece[] => [
  piece("example", "user", `q${id}`, id),
  piece("example", "assistant", `a${id}`, id),
];
const question = piece("turn", "user", "the question");
const shown = (pieces: readonly Piece[], render?: (messages: Parameters<typeof chatMl>[0]) => Rendered) => {
  const { chunks, tail } = chunkPrompt(pieces, tokenizer(render));
  return { chunks: chunks.map(({ tokens }) => written(tokens)), tail: written(tail) };
};
const tail = "<user\nthe question>\n<assistant\n";

describe("chunkPrompt", () => {
  it("cuts where turns end: system prompt, examples, conversation", () => {
    const pieces = [piece("system", "system", "sys"), ...example("1"), ...example("2"), question];
    expect(shown(pieces)).toEqual({
      chunks: ["<system\nsys>\n", "<user\nq1>\n<assistant\na1>\n", "<user\nq2>\n<assistant\na2>\n"],
      tail,
    });
    expect(chunkPrompt(pieces, tokenizer()).chunks.map(({ kind, id }) => [kind, id])).toEqual([
      ["system", null],
      ["example", "1"],
      ["example", "2"],
    ]);
  });

  it("gives an example the same tokens wherever it stands", () => {
    const one = shown([piece("system", "system", "sys"), ...example("1"), ...example("2"), question]).chunks;
    const other = shown([piece("system", "system", "sys"), ...example("2"), ...example("1"), question]).chunks;
    const own = shown([...example("2"), ...example("1"), question]).chunks;
    expect(other).toEqual([one[0], one[2], one[1]]);
    expect(own).toEqual(["<system\nown>\n", one[2], one[1]]);
  });

  it("cuts each piece of a document, within the turn that it shares with the system prompt", () => {
    const documents = [piece("document", "system", "one", "d"), piece("document", "system", "two", "d")];
    expect(
      shown([piece("system", "system", "s"), piece("system", "system", "t"), ...documents, ...example("1"), question]),
    ).toEqual({
      chunks: ["<system\ns\n\nt", "\n\none", "\n\ntwo>\n", "<user\nq1>\n<assistant\na1>\n"],
      tail,
    });
  });

  it("keeps what follows the question in the conversation, examples in guidance too", () => {
    const pieces = [piece("system", "system", "s"), piece("guidance", "user", "g"), ...example("1"), question];
    expect(shown(pieces).chunks).toEqual(["<system\ns>\n"]);
    expect(shown([question]).chunks).toEqual(["<system\nown>\n"]);
  });

  it("lets no text pass for a control token", () => {
    const { tail: tokens } = chunkPrompt([piece("turn", "user", "a>b")], tokenizer());
    expect(tokens.filter((token) => token === ">".codePointAt(0))).toHaveLength(1);
  });

  it("loses no token and keeps their order, chunks or none", () => {
    const pieces = [piece("system", "system", "sys"), ...example("1"), ...example("2"), question];
    const { chunks, tail: rest } = shown(pieces);
    const whole = "<system\nsys>\n<user\nq1>\n<assistant\na1>\n<user\nq2>\n<assistant\na2>\n" + tail;
    expect(chunks.join("") + rest).toBe(whole);
  });

  it("follows a template that trims", () => {
    const trimming = (messages: Parameters<typeof chatMl>[0]): Rendered =>
      chatMl(messages.map(({ role, content }) => ({ role, content: content.trim() })));
    const pieces = [
      piece("system", "system", " sys "),
      piece("document", "system", "d ", "d"),
      ...example("1"),
      question,
    ];
    expect(shown(pieces, trimming).chunks).toEqual(["<system\nsys ", "\n\nd>\n", "<user\nq1>\n<assistant\na1>\n"]);
  });

  it("cuts nothing where the template alters a message, or a turn has no end", () => {
    const pieces = [piece("system", "system", "SYS"), ...example("1"), question];
    const trimmed = (messages: Parameters<typeof chatMl>[0]): Rendered =>
      chatMl(messages.map(({ role, content }) => ({ role, content: content.toLowerCase() })));
    expect(shown(pieces, trimmed)).toEqual({ chunks: [], tail: `<system\nsys>\n<user\nq1>\n<assistant\na1>\n${tail}` });
    const endless = (messages: Parameters<typeof chatMl>[0]): Rendered =>
      chatMl(messages).map(({ kind, text }) => ({ kind, text: kind === "template" ? text.replaceAll(">", "") : text }));
    expect(shown([piece("system", "system", "s"), ...example("1"), question], endless).chunks).toEqual(["<system\ns"]);
  });
});
