// Findings against labels. A label counts as found when findings cover all its letters and digits,
// of whatever kind; a finding counts as right when it overlaps a label of its kind, or lies in a
// label of another kind (what is replaced there should be).
import { personalKinds, type Finding, type PersonalKind } from "../../algorithms/privacy/pii.ts";
import { significant } from "../support/statistics.ts";
import type { Label, Sentence } from "./sample.ts";

type ByKind<T> = Record<PersonalKind, T>;

export interface Scores {
  /** Labels of the sample. */
  labels: ByKind<number>;
  /** null: no label (recall), or no finding (precision). */
  recall: ByKind<number | null>;
  precision: ByKind<number | null>;
  recallAll: number | null;
  precisionAll: number | null;
  /** For work on the rules: what was missed, and what was replaced wrongly. */
  mistakes: string[];
}

export function score(sentences: readonly Sentence[], find: (text: string) => readonly Finding[]): Scores {
  const counts = Object.fromEntries(
    personalKinds.map((kind) => [kind, { labels: 0, covered: 0, findings: 0, right: 0 }]),
  ) as ByKind<Record<"labels" | "covered" | "findings" | "right", number>>;
  const mistakes: string[] = [];
  for (const { text, labels } of sentences) {
    const findings = find(text);
    for (const label of labels) {
      counts[label.kind].labels++;
      if (isCovered(text, label, findings)) counts[label.kind].covered++;
      else mistakes.push(`missed ${label.kind} ${text.slice(label.start, label.end)} in ${JSON.stringify(text)}`);
    }
    for (const finding of findings) {
      counts[finding.kind].findings++;
      const overlaps = labels.filter(({ start, end }) => start < finding.end && finding.start < end);
      const isRight = overlaps.some(
        ({ kind, start, end }) => kind === finding.kind || (start <= finding.start && finding.end <= end),
      );
      if (isRight) counts[finding.kind].right++;
      else mistakes.push(`wrong ${finding.kind} ${text.slice(finding.start, finding.end)} in ${JSON.stringify(text)}`);
    }
  }
  const shares = (of: "covered" | "right", from: "labels" | "findings"): ByKind<number | null> =>
    byKind((kind) => ratio(counts[kind][of], counts[kind][from]));
  const sum = (of: keyof (typeof counts)["NAME"]): number =>
    personalKinds.reduce((total, kind) => total + counts[kind][of], 0);
  return {
    labels: byKind((kind) => counts[kind].labels),
    recall: shares("covered", "labels"),
    precision: shares("right", "findings"),
    recallAll: ratio(sum("covered"), sum("labels")),
    precisionAll: ratio(sum("right"), sum("findings")),
    mistakes,
  };
}

function isCovered(text: string, { start, end }: Label, findings: readonly Finding[]): boolean {
  for (let i = start; i < end; i++) {
    if (!/[\p{L}\p{N}]/u.test(text[i] ?? "")) continue;
    if (!findings.some((finding) => finding.start <= i && i < finding.end)) return false;
  }
  return true;
}

const ratio = (part: number, whole: number): number | null => (whole === 0 ? null : significant(part / whole, 3));
const byKind = <T>(value: (kind: PersonalKind) => T): ByKind<T> =>
  Object.fromEntries(personalKinds.map((kind) => [kind, value(kind)])) as ByKind<T>;
