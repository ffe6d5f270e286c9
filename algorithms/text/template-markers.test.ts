import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withoutTemplateMarkers } from "./template-markers.ts";

/** Markers in chat templates and vocabularies of the families that endpoints serve. */
const markers = [
  ...["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "<|begin_of_text|>"],
  ...["<|python_tag|>", "<|user|>", "<|assistant|>", "<|end|>", "<|channel|>", "<|message|>", "<|return|>", "<|turn>"],
  ...[
    "<｜User｜>",
    "<｜Assistant｜>",
    "<｜begin▁of▁sentence｜>",
    "<|START_OF_TURN_TOKEN|>",
    "<|fim_prefix|>",
    "<turn|>",
  ],
  ...["[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>", "<bos>", "<eos>", "<pad>", "<unk>", "[SYSTEM_PROMPT]"],
  ...["[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[gMASK]", "<start_of_turn>", "<end_of_turn>"],
  ...["<tool_call>", "</tool_call>", "<think>", "</think>", "<unused12>", "<extra_id_0>", "<S>", "</S >"],
];

describe("markers of chat templates", () => {
  it.each(markers)("%s is broken, readable, and broken once", (marker) => {
    const once = withoutTemplateMarkers(`before ${marker} behind`);
    expect(once).not.toContain(marker);
    expect(once.replaceAll(" ", "")).toBe(`before ${marker} behind`.replaceAll(" ", ""));
    expect(withoutTemplateMarkers(once)).toBe(once);
  });

  it.each([
    "if (a < b || c > d) return [1, 2];",
    "a |> b, x <| y |> z, List<string>, <div class='s'>, <strong>, [note] [TODO] [x]",
    "grep '<[a-z]*>' | sort <in >out; cat <<EOF",
    "Vec<Option<T>>, |x| x > 1, <EMAIL_1>, <NAME_2>",
  ])("%s is left as it is", (text) => {
    expect(withoutTemplateMarkers(text)).toBe(text);
  });

  it("none is left or made of the parts of others, wherever they stand", () => {
    const parts = [
      ...markers,
      "<",
      "|",
      ">",
      "im_start",
      "[",
      "INST",
      "]",
      "/",
      "<|im_",
      "start|>",
      "</",
      "s>",
      " ",
      "\n",
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts), { maxLength: 12 }), (few) => {
        const text = withoutTemplateMarkers(few.join(""));
        for (const marker of markers) expect(text).not.toContain(marker);
      }),
      { numRuns: 2_000 },
    );
  });

  it("takes time in proportion to the text", () => {
    for (const unit of ["<|", "<", "<|a", "[INST", "<s", "<<SYS"]) {
      const text = unit.repeat(1_000_000 / unit.length);
      expect(withoutTemplateMarkers(text).length).toBeGreaterThanOrEqual(text.length);
    }
  });
});
