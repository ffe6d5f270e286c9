// A text worker for the tests of supervised.ts: some texts make it hang, crash or fail.
import { mask } from "../../algorithms/privacy/mask.ts";
import { replacePersonalData } from "../../algorithms/privacy/pii.ts";
import { splitText } from "../../algorithms/text/split.ts";
import { serveCalls } from "../worker/rpc.ts";
import type { TextMethods } from "./methods.ts";

function obey(text: string): void {
  if (text.startsWith("hang")) for (;;);
  if (text.startsWith("crash")) process.exit(7);
  if (text.startsWith("fail")) throw new RangeError("it failed");
}

serveCalls<TextMethods>({
  split({ text, splitter, most }) {
    obey(text);
    return splitText(text, splitter, most);
  },
  redact({ texts, options }) {
    texts.forEach(obey);
    return replacePersonalData(texts, options).texts;
  },
  mask({ items, options }) {
    for (const { text } of items) obey(text);
    return mask(items, options);
  },
});
