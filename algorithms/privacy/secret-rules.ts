// Shapes of keys and tokens (pii-rules.ts orders them). Long runs are looked at from their anchor,
// once, so that patterns stay linear.
import { shape, type Rule, type Span } from "./personal-rule.ts";
import { traits } from "./text-traits.ts";

const { at, capital, colonOrEquals, dashOrUnderscore, digit, dot } = traits;

/** JSON web tokens: three parts of eight characters and more, the first beginning with eyJ. */
function findWebTokens(text: string): Span[] {
  const spans: Span[] = [];
  for (let at = text.indexOf("eyJ"); at !== -1; at = text.indexOf("eyJ", at)) {
    const isStart = !/\w/.test(text[at - 1] ?? " ");
    const first = endOfPart(text, at);
    if (isStart && first - at >= 11 && text[first] === ".") {
      const second = endOfPart(text, first + 1);
      const third = text[second] === "." ? endOfPart(text, second + 1) : second;
      if (second - first > shortestPart && third - second > shortestPart) {
        spans.push({ kind: "SECRET", start: at, end: third });
        at = third;
        continue;
      }
    }
    at = isStart ? first : at + 3;
  }
  return spans;
}
const shortestPart = 8;
const part = /[\w-]*/y;
function endOfPart(text: string, from: number): number {
  part.lastIndex = from;
  part.exec(text);
  return part.lastIndex;
}

/** sk-..., pk_..., rk-...: sixteen characters and more, one of them a digit. */
function findApiKeys(text: string): Span[] {
  const spans: Span[] = [];
  for (const { index, 0: run, groups } of text.matchAll(/(?<![A-Za-z0-9_])(?:[spr]k[-_])(?<body>[\w-]*)/g)) {
    // The first beginning has the longest rest: where it is no key, none in this run is.
    const body = groups?.["body"] ?? "";
    if (body.length >= 16 && /\d/.test(body)) spans.push({ kind: "SECRET", start: index, end: index + run.length });
  }
  return spans;
}

/** A value after "password=": no variable, path, mask or plain word. */
const isSecretValue = (value: string): boolean =>
  !/^(?:\p{L}+[.!?:]?|[.~]{0,2}\/.*|[*.xX]+|%\w+|-.*|\p{L}[\w.]*[[(].*|\p{L}+(?:[._]\p{L}+)+)$/u.test(value);
/** "token" is a word of much else: its value is long and has letters and digits. */
const isLongValue = (value: string): boolean => value.length >= 16 && /\d/.test(value) && /[A-Za-z]/.test(value);

const value = "[^\\s\"'<>;,|&()$`\\\\{}[\\]]";

/** In the order in which they are applied. */
export const secretRules: readonly Rule[] = [
  { kind: "SECRET", needs: capital | dot, least: 29, find: findWebTokens },
  { kind: "SECRET", needs: digit | dashOrUnderscore, least: 19, find: findApiKeys },
  shape(
    "SECRET",
    { needs: dashOrUnderscore, least: 27 },
    /-----BEGIN [A-Z ]{0,64}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,64}PRIVATE KEY-----|$)/g,
  ),
  shape("SECRET", { needs: capital, least: 20 }, /\b(?:A(?:KIA|SIA|GPA|ROA|IDA)[A-Z0-9]{16}\b|AIza[\w-]{30,})/g),
  shape(
    "SECRET",
    { needs: dashOrUnderscore, least: 15 },
    /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abposr]-[\w-]{10,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{20,}|pypi-[\w-]{40,}|dckr_pat_[\w-]{20,})/g,
  ),
  shape("SECRET", { needs: dot | capital, least: 36 }, /\bSG\.[\w-]{16,32}\.[\w-]{16,64}/g),
  shape("SECRET", { needs: colonOrEquals | capital, least: 44 }, /\b\d{8,10}:AA[\w-]{33}(?![\w-])/g), // Telegram
  shape("SECRET", { needs: digit, least: 44 }, /hooks\.slack\.com\/services\/([\w/]{20,})/g),
  shape("SECRET", { needs: digit, least: 22 }, /\b(?:bearer|basic)[ \t]+((?=[\w.~+/-]*\d)[\w.~+/-]{16,}={0,2})/gi),
  shape("SECRET", { needs: colonOrEquals | at, least: 7 }, /:\/\/[^\s/:@<>]{1,256}:([^\s/@<>$]{1,256})@/g), // user:password@host
  shape(
    "SECRET",
    { needs: colonOrEquals | dashOrUnderscore, least: 9 },
    /(?:-u|--user)[ =][\w.-]{1,64}:([^\s"'$:]{4,})/g,
    isSecretValue,
  ), // curl -u user:password
  shape(
    "SECRET",
    { needs: dashOrUnderscore, least: 13 },
    /(?:sshpass -p|\blogin [ \w-]{0,40}?-p)[ ]?["']?([^\s"'$]{4,})/g,
  ),
  shape(
    "SECRET",
    { needs: 0, least: 8 },
    new RegExp(
      `(?:passw(?:or[dt]|d)|passphrase|pwd|secret|(?:api|access|account|secret)[_-]?key|auth[_-]?token|access[_-]?token|mot de passe|contraseña|kennwort|wachtwoord|senha|hasło)["']?[ \\t]*(?:=|:|[ \\t](?:is|ist|est|es|è)[ \\t])[ \\t]*["']?(${value}{4,})`,
      "gi",
    ),
    isSecretValue,
  ),
  shape(
    "SECRET",
    { needs: colonOrEquals | digit, least: 22 },
    new RegExp(`token["']?[ \\t]*[=:][ \\t]*["']?(${value}{16,})`, "gi"),
    isLongValue,
  ),
];
