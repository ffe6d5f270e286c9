// The labelled sample: sentences.txt, its slots filled at random (values.ts). {KIND:format} is
// personal data of that kind, {name} in small letters is no personal data. Half of the sentences
// are for development and half are held out, by sentence and not by value: rules must not be fitted
// to the sentences that measure them.
import { readFileSync } from "node:fs";
import { personalKinds, type PersonalKind } from "../../algorithms/privacy/pii.ts";
import type { Random } from "../../algorithms/numeric/random.ts";
import { createValues } from "./values.ts";

/** Half-open, in UTF-16 units. */
export interface Label {
  kind: PersonalKind;
  start: number;
  end: number;
}

export interface Sentence {
  text: string;
  labels: Label[];
  heldOut: boolean;
  /** What it is a case of: the heading above it in the file. */
  part: string;
}

const slot = /\{([A-Za-z]+)(?::([a-z]+))?\}/g;
const isKind = (name: string): name is PersonalKind => (personalKinds as readonly string[]).includes(name);
const unknown = (name: string): boolean => !isKind(name) && !/^[a-z]+$/.test(name);

/** Each sentence with slots `times` times, with other values; others once. */
export function makeSample(random: Random, times: number): Sentence[] {
  const values = createValues(random);
  const lines = readFileSync(new URL("sentences.txt", import.meta.url), "utf8")
    .split("\n")
    .filter(Boolean);
  const sentences: Sentence[] = [];
  let part = "";
  let heldOut = false;
  for (const line of lines) {
    if (line.startsWith("# ")) {
      part = line.slice(2);
      continue;
    }
    heldOut = !heldOut;
    const template = line.replaceAll("\\n", "\n").replaceAll("\\t", "\t").replaceAll("\\\\", "\\");
    const rounds = template.search(slot) === -1 ? 1 : times;
    for (let round = 0; round < rounds; round++) sentences.push({ ...filled(template), heldOut, part });
  }
  return sentences;

  function filled(template: string): Pick<Sentence, "text" | "labels"> {
    const labels: Label[] = [];
    let text = "";
    let from = 0;
    for (const match of template.matchAll(slot)) {
      const [whole, name = "", format = ""] = match;
      if (unknown(name)) throw new Error(`sentences.txt: ${whole} is no kind of personal data`);
      const isPersonal = isKind(name);
      text += template.slice(from, match.index);
      const value = isPersonal ? values.personal(name, format) : values.neutral(name);
      if (isPersonal) labels.push({ kind: name, start: text.length, end: text.length + value.length });
      text += value;
      from = match.index + whole.length;
    }
    return { text: text + template.slice(from), labels };
  }
}
