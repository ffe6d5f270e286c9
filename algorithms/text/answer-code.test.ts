import fc from "fast-check";
import { expect, it } from "vitest";
import { answerCode } from "./answer-code.ts";

it.each([
  ["ls -l", "ls -l"],
  ["  ls -l\n", "ls -l"],
  ["```bash\nls -l\n```", "ls -l"],
  ["```\nls -l\n```\n\nThis lists all files.", "ls -l"],
  ["```sh\nfor f in *; do\n  echo $f\ndone\n```", "for f in *; do\n  echo $f\ndone"],
  // Cut at its end by a stop string or the number of tokens.
  ["```bash\nls -l", "ls -l"],
  ["```ls -l```", "ls -l"],
  ["```ls -l", "ls -l"],
  ["```find . -name a\nfind . -name b\n```", "find . -name a\nfind . -name b"],
  ["```bash\nls -l```", "ls -l"],
  ["`ls -l`", "ls -l"],
  // Backticks that belong to the command.
  ["echo `date`", "echo `date`"],
  ["`which ls` -l `pwd`", "`which ls` -l `pwd`"],
  ["`which ls` -l", "`which ls` -l"],
  // An empty block: the answer stays unchanged.
  ["```", "```"],
  ["```bash\n```", "```bash\n```"],
  ["``", "``"],
  ["", ""],
])("of %j is %j", (answer, code) => {
  expect(answerCode(answer)).toBe(code);
});

it("takes any block off any code that has no backticks, and leaves plain code alone", () => {
  const plain = fc.string({ minLength: 1 }).filter((text) => !text.includes("`") && text.trim() !== "");
  fc.assert(
    fc.property(plain, fc.constantFrom("", "bash", "sh", "c++"), fc.boolean(), (code, name, closed) => {
      const wanted = code.trim();
      expect(answerCode(code)).toBe(wanted);
      expect(answerCode(`\`${code}\``)).toBe(wanted);
      expect(answerCode(`\`\`\`${name}\n${code}${closed ? "\n```" : ""}`)).toBe(wanted);
    }),
  );
});

it("is a part of the answer, and never empty unless the answer is", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("`", "```", "\n", " ", "a", "bash"), { maxLength: 20 }).map((parts) => parts.join("")),
      (answer) => {
        const code = answerCode(answer);
        expect(answer).toContain(code);
        expect(code === "").toBe(answer.trim() === "");
      },
    ),
  );
});
