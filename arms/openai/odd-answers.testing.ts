// Valid answers of an endpoint, and seeded mutations of them: members dropped, null, of another
// type, in another order; streams in pieces that are cut anywhere.
type Json = Record<string, unknown>;

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const base = { id: "c1", object: "chat.completion.chunk", created: 1, model: "m-1", system_fingerprint: "f" };
const piece = (delta: Json, finish: string | null = null, more: Json = {}): Json => ({
  ...base,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  ...more,
});
const usage = {
  prompt_tokens: 1_000,
  completion_tokens: 500,
  total_tokens: 1_500,
  prompt_tokens_details: { cached_tokens: 200 },
};
const call = (index: number, id: string, name: string, text: string): Json => ({
  tool_calls: [{ index, id, type: "function", function: { name, arguments: text } }],
});
const rest = (index: number, text: string): Json => ({ tool_calls: [{ index, function: { arguments: text } }] });

/** Arguments of which no part can be left out without being no JSON any more. */
const calls = [
  { id: "call_a", name: "look_up", text: '{"city":"Zürich 😀","days":[1,2]}' },
  { id: "call_b", name: "write", text: '{"path":"/tmp/a b","on":true}' },
] as const;
const message = {
  role: "assistant",
  content: "A whole answer 😀 of a model.",
  refusal: null,
  tool_calls: calls.map(({ id, name, text }) => ({ id, type: "function", function: { name, arguments: text } })),
};

export const valid: readonly (readonly Json[])[] = [
  [
    piece({ role: "assistant", content: "" }),
    ...["A whole ", "answer \ud83d", "\ude00 of ", "a model."].map((content) => piece({ content })),
    piece({}, "stop"),
    { ...base, choices: [], usage },
  ],
  [
    piece({ role: "assistant", content: null }),
    piece(call(0, calls[0].id, calls[0].name, calls[0].text.slice(0, 9))),
    piece(rest(0, calls[0].text.slice(9, 21))),
    piece(rest(0, calls[0].text.slice(21))),
    piece(call(1, calls[1].id, calls[1].name, "")),
    piece(rest(1, calls[1].text)),
    piece({}, "tool_calls", { usage }),
  ],
  [
    piece({
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "parts" },
      ],
    }),
    piece({ content: "!" }, "length", { usage }),
  ],
  [{ ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage }],
  [
    {
      ...base,
      choices: [{ index: 0, message: { role: "assistant", content: "short" }, finish_reason: "stop" }],
      usage,
    },
  ],
];

const others: readonly unknown[] = ["", "text", "12", 0, -3, 2.5, 1e20, true, false, [], [[]], ["x"], {}, { x: 1 }];

/** All places in a value: the object or list, and the key in it. */
function places(value: unknown): [Json, string][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => [[value as Json, key] as [Json, string], ...places(one)]);
}

function reordered(value: unknown, random: () => number): unknown {
  if (Array.isArray(value)) return value.map((one) => reordered(one, random));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([key, one]) => ({ key, one: reordered(one, random), at: random() }));
  return Object.fromEntries(members.sort((a, b) => a.at - b.at).map(({ key, one }) => [key, one]));
}

export interface Mutated {
  isWhole: boolean;
  /** What the endpoint sends, in order. */
  values: readonly unknown[];
  body: Buffer[];
  /** It ends with [DONE]. */
  isDone: boolean;
}

export function mutated(seed: number): Mutated {
  const random = seeded(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const isWhole = seed % 5 > 2;
  let values = structuredClone(valid[seed % 5]!) as unknown[];
  for (let left = Math.floor(random() * 4); left > 0; left--) {
    const found = places(values).filter(([holder]) => holder !== (values as unknown));
    const [holder, key] = pick(found);
    const kind = random();
    if (kind < 0.35 && !Array.isArray(holder)) Reflect.deleteProperty(holder, key);
    else if (kind < 0.55) holder[key] = null;
    else holder[key] = structuredClone(pick(others.filter((one) => typeof one !== typeof holder[key])));
  }
  if (random() < 0.5) values = values.map((value) => reordered(value, random));
  const end = pick(["\n", "\r\n", "\r"]);
  const between = (): string =>
    pick(["", "", `: waiting${end}${end}`, `event: ping${end}data: {"type":"ping"}${end}${end}`]);
  const events = values
    .map((value) => `${between()}data:${pick(["", " "])}${JSON.stringify(value)}${end}${end}`)
    .join("");
  const tail = pick(["data: [DONE]\n\n", "", "cut"]);
  const text = isWhole ? JSON.stringify(values[0]) : tail === "cut" ? events.slice(0, -2 * end.length) : events + tail;
  const bytes = Buffer.from(text);
  const body: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const next = at + 1 + Math.floor(random() ** 3 * 400);
    body.push(bytes.subarray(at, next));
    at = next;
  }
  return { isWhole, values, body, isDone: tail.startsWith("data:") };
}
