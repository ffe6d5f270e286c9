// The condition of `precedent policy promote --if`: comparisons of named figures and numbers,
// joined by and, or ("and" binds more tightly). It is parsed by hand and only reads the given
// figures, so any text evaluates to true, false or an error.
//
//   condition  = all { "or" all }           all = comparison { "and" comparison }
//   comparison = operand ( ">" | ">=" | "<" | "<=" ) operand

/** Figures by the name that a condition gives them; null: not known. */
export type Figures = ReadonlyMap<string, number | null>;

export interface Verdict {
  holds: boolean;
  /** Every comparison with its numbers: "lower(difference) > 0: 0.0123 > 0". */
  comparisons: string[];
}

export class ConditionError extends Error {
  override name = "ConditionError";
}

const longest = 500;
type Operator = ">" | ">=" | "<" | "<=";
interface Token {
  text: string;
  /** Position of its first character, from 1. */
  at: number;
}

/**
 * Throws ConditionError, which says what was wrong and where, for anything that is no condition.
 */
export function verify(condition: string, figures: Figures): Verdict {
  if (condition.length > longest) throw new ConditionError(`a condition has at most ${longest} characters`);
  const tokens = tokensOf(condition);
  let next = 0;
  const comparisons: string[] = [];

  const fail = (expected: string): never => {
    const token = tokens[next];
    const found = token === undefined ? "it ends" : `"${token.text}" stands`;
    throw new ConditionError(`${expected} is expected where ${found} (character ${token?.at ?? condition.length + 1})`);
  };
  const take = (wanted: string): boolean => {
    if (tokens[next]?.text !== wanted) return false;
    next++;
    return true;
  };
  const name = (expected: string): string => {
    const token = tokens[next];
    if (token === undefined || !/^[a-z]/.test(token.text)) return fail(expected);
    next++;
    return token.text;
  };
  const operand = (): { text: string; value: number | null } => {
    const token = tokens[next];
    if (token !== undefined && /^[-\d.]/.test(token.text)) {
      next++;
      return { text: token.text, value: Number(token.text) };
    }
    let text = name("a number or a figure");
    if (take("(")) {
      text += `(${name("a name")})`;
      if (!take(")")) fail('")"');
    }
    const value = figures.get(text);
    if (value === undefined)
      throw new ConditionError(`there is no figure ${text} (character ${token?.at ?? 1}); there are ${list(figures)}`);
    return { text, value };
  };
  const comparison = (): boolean => {
    const left = operand();
    const operator = tokens[next]?.text;
    if (operator === undefined || !isOperator(operator)) return fail(">, >=, < or <=");
    next++;
    const right = operand();
    const known = left.value !== null && right.value !== null;
    const numbers = `${figure(left.value)} ${operator} ${figure(right.value)}`;
    comparisons.push(`${left.text} ${operator} ${right.text}: ${numbers}`);
    return known && compare[operator](left.value!, right.value!);
  };
  const joined = (part: () => boolean, word: string, combine: (all: boolean[]) => boolean): boolean => {
    const parts = [part()];
    while (take(word)) parts.push(part());
    return combine(parts);
  };
  const all = (): boolean => joined(comparison, "and", (parts) => parts.every(Boolean));
  const holds = joined(all, "or", (parts) => parts.some(Boolean));
  if (next < tokens.length) fail('"and", "or" or the end');
  return { holds, comparisons };
}

function tokensOf(condition: string): Token[] {
  const pattern = /\s*(-?(?:\d+(?:\.\d+)?|\.\d+)(?:e-?\d+)?|[a-z]\w*|>=|<=|[<>()])/y;
  const tokens: Token[] = [];
  const end = condition.trimEnd().length;
  while (pattern.lastIndex < end) {
    const from = pattern.lastIndex;
    const match = pattern.exec(condition);
    if (match === null) {
      const at = from + condition.slice(from).search(/\S/);
      throw new ConditionError(`"${condition[at]}" (character ${at + 1}) is part of no condition`);
    }
    const text = match[1]!;
    tokens.push({ text, at: pattern.lastIndex - text.length + 1 });
  }
  return tokens;
}

const compare: Record<Operator, (left: number, right: number) => boolean> = {
  ">": (left, right) => left > right,
  ">=": (left, right) => left >= right,
  "<": (left, right) => left < right,
  "<=": (left, right) => left <= right,
};
const isOperator = (text: string): text is Operator => Object.hasOwn(compare, text);
const figure = (value: number | null): string => (value === null ? "unknown" : String(Number(value.toPrecision(6))));
const list = (figures: Figures): string => [...figures.keys()].join(", ");
