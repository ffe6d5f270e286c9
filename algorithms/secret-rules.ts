// The shapes of keys and tokens (pii-rules.ts puts them into the order of all rules). Keys are long
// runs of letters, digits and dashes: a pattern that may begin anywhere in a run and must see its
// end would read the run once for each beginning, so runs are cut out first.

/** Half-open, in UTF-16 units. */
export interface Span {
  start: number;
  end: number;
}

export const secretShapes: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,64}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,64}PRIVATE KEY-----|$)/g,
  /\b(?:AKIA|ASIA|AGPA|AROA|AIDA)[A-Z0-9]{16}\b/g,
  /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})/g,
  /\bxox[abposr]-[\w-]{10,}/g,
  /\bAIza[\w-]{30,}/g,
  /\b(?:npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{20,})/g,
  /\b[Bb](?:earer|asic)[ \t]+(?<value>(?=[\w.~+/-]*\d)[\w.~+/-]{16,}={0,2})/g,
  /:\/\/[^\s/:@<>]+:(?<value>[^\s/@<>$]+)@/g, // user:password@host
];

/**
 * JSON web tokens: three parts of eight characters and more with dots between them, the first
 * beginning with eyJ.
 */
export function* findWebTokens(text: string): Generator<Span> {
  for (const { index, 0: run } of text.matchAll(/[\w-]+(?:\.[\w-]+)*/g)) {
    if (!run.includes("eyJ")) continue;
    const parts = run.split(".");
    for (let part = 0, at = index; part < parts.length; part++) {
      const [first = "", second = "", third = ""] = parts.slice(part, part + 3);
      const begins = /(?:^|-)eyJ/.exec(first);
      const from = begins === null ? 0 : begins.index + begins[0].length - 3;
      const isToken =
        begins !== null && first.length - from >= 11 && Math.min(second.length, third.length) >= shortestPart;
      if (isToken) {
        const end = at + first.length + 1 + second.length + 1 + third.length;
        yield { start: at + from, end };
        part += 2;
        at = end + 1;
      } else at += first.length + 1;
    }
  }
}
const shortestPart = 8;

/** sk-..., pk_..., rk-...: sixteen characters and more, one of them a digit. */
export function* findApiKeys(text: string): Generator<Span> {
  for (const { index, 0: run } of text.matchAll(/[\w-]+/g)) {
    const begins = /(?:^|-)[spr]k[-_]/.exec(run);
    if (begins === null) continue;
    const body = begins.index + begins[0].length;
    // The first beginning has the longest rest: where it is no key, none in this run is.
    if (run.length - body >= 16 && /\d/.test(run.slice(body)))
      yield { start: index + body - 3, end: index + run.length };
  }
}
