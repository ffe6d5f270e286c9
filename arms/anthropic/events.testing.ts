// For tests: answers as Anthropic's Messages API sends them, whole or as a stream with its order of
// events, a ping and cumulative usage.
type Json = Record<string, unknown>;

const messageUsage = {
  ...{ input_tokens: 10, cache_creation_input_tokens: 20, cache_read_input_tokens: 30, output_tokens: 7 },
};

export interface Said {
  content: Json[];
  stop?: string;
  /** Members of the last event, and of what it says of the message. */
  more?: Json;
  ending?: Json;
}

export const message = ({ content, stop = "end_turn", more = {} }: Said): Json => ({
  ...{ id: "msg_1", type: "message", role: "assistant", model: "claude-m-1", content },
  ...{ stop_reason: stop, stop_sequence: null, usage: messageUsage, ...more },
});

export const event = (type: string, more: Json = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;

/** Its texts, thoughts and inputs in pieces of some characters. */
export function messageEvents({ content, stop = "end_turn", more = {}, ending = {} }: Said, length = 5): string {
  const begun = { ...message({ content: [] }), stop_reason: null, usage: { ...messageUsage, output_tokens: 1 } };
  return [
    event("message_start", { message: begun }),
    ...content.flatMap((block, index) => [
      ...blockEvents(block, index, length),
      ...(index === 0 ? [event("ping")] : []),
    ]),
    event("message_delta", {
      delta: { stop_reason: stop, stop_sequence: null, ...ending },
      ...{ usage: { output_tokens: messageUsage.output_tokens }, ...more },
    }),
    event("message_stop"),
  ].join("");
}

function blockEvents(block: Json, index: number, length: number): string[] {
  const { text, thinking, signature, input, ...head } = block;
  const delta = (value: Json): string => event("content_block_delta", { index, delta: value });
  const pieces = (all: string): string[] => all.match(new RegExp(`.{1,${length}}`, "gsu")) ?? [];
  const start = (more: Json): string => event("content_block_start", { index, content_block: { ...head, ...more } });
  const stop = event("content_block_stop", { index });
  if (typeof text === "string")
    return [start({ text: "" }), ...pieces(text).map((one) => delta({ type: "text_delta", text: one })), stop];
  if (typeof thinking === "string")
    return [
      start({ thinking: "", signature: "" }),
      ...pieces(thinking).map((one) => delta({ type: "thinking_delta", thinking: one })),
      ...(signature === undefined ? [] : [delta({ type: "signature_delta", signature })]),
      stop,
    ];
  if (input === undefined) return [start({}), stop];
  const json = typeof input === "string" ? input : JSON.stringify(input);
  const first = delta({ type: "input_json_delta", partial_json: "" });
  return [
    ...[start({ input: {} }), first],
    ...pieces(json).map((one) => delta({ type: "input_json_delta", partial_json: one })),
    stop,
  ];
}
