// The text worker: pure functions over texts of users. It may be ended at any time.
import { mask } from "../../algorithms/privacy/mask.ts";
import { replacePersonalData } from "../../algorithms/privacy/pii.ts";
import { splitText } from "../../algorithms/text/split.ts";
import { serveCalls } from "../worker/rpc.ts";
import type { TextMethods } from "./methods.ts";

serveCalls<TextMethods>({
  split: ({ text, splitter, most }) => splitText(text, splitter, most),
  redact: ({ texts, options }) => replacePersonalData(texts, options).texts,
  mask: ({ items, options }) => mask(items, options),
});
