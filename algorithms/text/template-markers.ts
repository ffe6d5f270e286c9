// Text that some chat template takes for its own: the markers of turns, roles and tools. An
// endpoint that tokenises a prompt as one text would read them as control tokens, so that what one
// author wrote could end its turn and begin another's. A blank behind the first character keeps
// such text readable and makes it no marker of any vocabulary. llama and linked arms need none of
// this: they tokenise what users write without control tokens (connections/llama/chat.ts). Pure.

/** What stands alone in angle brackets in a vocabulary: Llama 2, Mistral, Gemma, T5, BERT, Qwen. */
const angled = [
  ...["s", "bos", "eos", "pad", "unk", "mask", "cls", "sep", "turn", "think", "eom", "eot"],
  ...[
    "(?:start|end)_of_[a-z_]{1,24}",
    "(?:begin|end)of[a-z_]{1,24}",
    "(?:unused|reserved|extra_id_|reserved_token_)\\d{1,6}",
  ],
  ...["tool_(?:call|response|calls|result|results|code)", "tools", "function(?:_call|_response|_results)?"],
  ...["image_soft_token", "audio_soft_token", "(?:fim|vision|object_ref|box|quad)_[a-z_]{1,24}"],
].join("|");
const bracketed = [
  ...["INST", "SYSTEM_PROMPT", "AVAILABLE_TOOLS", "TOOL_CALLS", "TOOL_RESULTS", "TOOL_CONTENT", "TOOL_CALL_ID"],
  ...[
    "ARGS",
    "CALL_ID",
    "THINK",
    "MODEL_SETTINGS",
    "PREFIX",
    "SUFFIX",
    "MIDDLE",
    "IMG(?:_BREAK|_END)?",
    "(?:BEGIN|END)_AUDIO",
  ],
  ...["AUDIO", "TRANSCRIBE", "CLS", "SEP", "PAD", "UNK", "MASK", "BOS", "EOS", "gMASK", "sMASK"],
].join("|");

// Each has a bounded length and begins with a character that the rest can't hold: linear.
const marker = new RegExp(
  [
    // <|im_start|>, <|eot_id|>, <｜User｜>, <|"|>, <|turn>, <turn|>.
    "<(?=/?[|｜][^<>\\s]{0,64}>|/?[^<>|｜\\s]{1,64}[|｜]>)",
    `<(?=/?(?:${angled})\\s?/?>)`,
    "<(?=</?SYS>>)",
    `\\[(?=/?(?:${bracketed})\\])`,
  ].join("|"),
  "giu",
);

/** The same text without a marker; a text that has none is unchanged. */
export const withoutTemplateMarkers = (text: string): string => text.replace(marker, "$& ");
