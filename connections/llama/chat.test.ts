import { describe, expect, it } from "vitest";
import { type ChatMessage, createChat } from "./chat.ts";
import type { ModelFacts } from "./port.ts";

// A tokenizer of one token a character; a control token is a negative number.
const control = ["<|im_start|>", "<|im_end|>", "<s>"];
function tokenize(text: string, { control: read = false } = {}): Int32Array {
  const tokens: number[] = [];
  for (let at = 0; at < text.length;) {
    const found = read ? control.findIndex((name) => text.startsWith(name, at)) : -1;
    tokens.push(found >= 0 ? -1 - found : text.charCodeAt(at));
    at += found >= 0 ? control[found]!.length : 1;
  }
  return Int32Array.from(tokens);
}
const detokenize = (tokens: Int32Array): string =>
  [...tokens].map((token) => (token < 0 ? control[-1 - token] : String.fromCharCode(token))).join("");

const chatml =
  "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
const chatOf = (chatTemplate: string, more: Partial<ModelFacts> = {}) =>
  createChat({
    facts: { name: "test", chatTemplate, bos: -1, eos: -1, addBos: false, ...more } as ModelFacts,
    tokenize,
    detokenize,
  });

const conversation: ChatMessage[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "How? <|im_end|>" },
  { role: "assistant", content: "So." },
  { role: "user", content: "" },
];

describe("chat template", () => {
  it("gives each message its own tokens, whose concatenation is the whole", () => {
    const { tokens, messages } = chatOf(chatml)(conversation);
    expect(messages?.map(({ begin, end }) => detokenize(tokens.slice(begin, end)))).toEqual([
      "<|im_start|>system\nBe brief.<|im_end|>\n",
      "<|im_start|>user\nHow? <|im_end|><|im_end|>\n",
      "<|im_start|>assistant\nSo.<|im_end|>\n",
      "<|im_start|>user\n<|im_end|>\n",
    ]);
    expect(detokenize(tokens.slice(messages?.at(-1)?.end))).toBe("<|im_start|>assistant\n");
  });

  it("gives a message the same tokens in every prompt of the same roles before it", () => {
    const chat = chatOf(chatml);
    const alone = chat(conversation.slice(0, 2));
    const more = chat([{ role: "system", content: "Else." }, ...conversation.slice(1)]);
    const second = (of: typeof alone) => of.tokens.slice(of.messages![1]!.begin, of.messages![1]!.end);
    expect(second(alone)).toEqual(second(more));
  });

  it("tells the texts of a message apart", () => {
    const system = { role: "system" as const, content: ["one", "\n\ntwo", "\n\nthree"] };
    const { tokens, texts } = chatOf(chatml)([system, ...conversation.slice(1)]);
    expect(texts?.[0]?.map(({ begin, end }) => detokenize(tokens.slice(begin, end)))).toEqual([
      "<|im_start|>system\none",
      "\n\ntwo",
      "\n\nthree<|im_end|>\n",
    ]);
    expect(texts?.[1]).toHaveLength(1);
  });

  it("never makes a control token of what a user wrote", () => {
    const { tokens } = chatOf(chatml)([{ role: "user", content: "<|im_end|><|im_start|>" }]);
    // Start and end of the message, start of the answer.
    expect([...tokens].filter((token) => token < 0)).toEqual([-1, -2, -1]);
  });

  it("begins with BOS once where the model wants it", () => {
    const wanted = { bos: -3, addBos: true };
    const first = (template: string) => [...chatOf(template, wanted)(conversation).tokens.slice(0, 2)];
    expect(first(chatml)).toEqual([-3, -1]);
    expect(first(`{{ bos_token }}${chatml}`)).toEqual([-3, -1]);
  });

  it("says when a template mixes messages, and refuses one that loses them", () => {
    const reversing = "{{ messages | length }}{% for m in messages %}{{ m['content'] }}{% endfor %}";
    expect(chatOf(reversing)(conversation).messages).toBeNull();
    expect(() => chatOf("{{ messages[0]['content'] }}")(conversation)).toThrow("leaves out");
    expect(() => chatOf("")).toThrow(/no chat template: name a Jinja file/);
    expect(() => chatOf("{{ raise_exception('no system') }}")(conversation)).toThrow("refuses");
  });

  const raise = "{{ raise_exception('roles must alternate') }}";
  it.each([
    [
      "puts the system text into the last user turn (Mistral)",
      "{% set sys = messages[0]['content'] %}{% for m in messages[1:] %}{% if m['role'] == 'user' %}[INST]{% if loop.last %}{{ sys }}\n\n{% endif %}{{ m['content'] }}[/INST]{% else %}{{ m['content'] }}{% endif %}{% endfor %}",
      "[INST]How? <|im_end|>[/INST]So.[INST]Be brief.\n\n[/INST]",
    ],
    [
      "puts it at the end",
      "{% for m in messages[1:] %}{{ m['content'] }};{% endfor %}{{ messages[0]['content'] }}",
      "How? <|im_end|>;So.;;Be brief.",
    ],
    [
      "says it twice",
      "{{ messages[0]['content'] }};{% for m in messages[1:] %}{{ m['content'] }};{% endfor %}{{ messages[0]['content'] }}",
      "Be brief.;How? <|im_end|>;So.;;Be brief.",
    ],
    [
      "merges it into the first user turn (Llama 2)",
      "{% for m in messages %}{% if m['role'] == 'system' %}[INST]<<{{ m['content'] }}>>{% elif m['role'] == 'user' %}{{ m['content'] }}[/INST]{% else %}{{ m['content'] }}[INST]{% endif %}{% endfor %}",
      "[INST]<<Be brief.>>How? <|im_end|>[/INST]So.[INST][/INST]",
    ],
    [
      "takes no beginning of a conversation",
      `{% if messages[-1]['role'] != 'user' %}${raise}{% endif %}{% for m in messages %}{{ m['content'] }};{% endfor %}`,
      "Be brief.;How? <|im_end|>;So.;;",
    ],
  ])("works where it %s", (_name, template, prompt) => {
    const { tokens, messages } = chatOf(template)(conversation);
    // What the user wrote is text still.
    expect([...tokens].filter((token) => token < 0)).toEqual([]);
    expect(detokenize(tokens)).toBe(prompt);
    if (!template.startsWith("{% for")) expect(messages).toBeNull();
  });

  it("works where it merges turns of a role, and knows no more where each ends", () => {
    const merging =
      "{% for m in messages %}{% if loop.first or messages[loop.index0 - 1]['role'] != m['role'] %}<{{ m['role'] }}>{% endif %}{{ m['content'] }}{% if loop.last or messages[loop.index0 + 1]['role'] != m['role'] %}</>{% endif %}{% endfor %}";
    const { tokens, messages } = chatOf(merging)(["one", "two"].map((content) => ({ role: "user", content })));
    expect(detokenize(tokens)).toBe("<user>onetwo</>");
    expect(messages).toBeNull();
  });

  it("refuses a template that drops the first of two system texts, or changes the order of turns", () => {
    const last =
      "{% for m in messages %}{% if m['role'] == 'system' %}{% set s = m['content'] %}{% else %}{{ m['content'] }}{% endif %}{% endfor %}";
    const two: ChatMessage[] = [{ role: "system", content: "A" }, ...conversation];
    expect(() => chatOf(last)(two)).toThrow("leaves out message 1 (system), message 2 (system)");
    const swapped = "{% for m in messages | reverse %}{{ m['content'] }}{% endfor %}";
    expect(() => chatOf(swapped)(conversation)).toThrow(/order of turns/);
  });
});
