import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mask, scopeOf } from "./mask.ts";
import { replacePersonalData } from "./pii.ts";
import { pseudonym, renumberPlaceholders } from "./placeholders.ts";

const key = "a secret of sixteen";
const options = { key };
const scope = scopeOf("acme", "r1");
const one = (text: string, of = scope): string => mask([{ text, scope: of }], options)[0]!;

const value = fc.constantFrom("bob@x.org", "eve@x.org", "+44 20 7946 0958", "Dr. Ada Lovelace", "4111 1111 1111 1111");
const text = fc
  .array(fc.tuple(fc.constantFrom("write to ", "call ", "and also ", "<EMAIL_2> then "), value), { maxLength: 5 })
  .map((parts) => parts.map(([before, person]) => `${before}${person}; `).join(""));

describe("masked texts of a request", () => {
  it("have equal placeholders for equal values, whichever comes when, and are cleaned once", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 4 }), (texts) => {
        const together = mask(
          texts.map((each) => ({ text: each, scope })),
          options,
        );
        expect(together).toEqual(texts.map((each) => one(each)));
        expect(together.map((each) => one(each))).toEqual(together);
      }),
    );
  });

  it("become by renumbering what they would have become together", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 4 }), (texts) => {
        const renumbered = renumberPlaceholders(texts.map((each) => one(each)));
        expect(renumbered).toEqual(replacePersonalData(texts).texts);
        // None that a key numbered.
        expect(renumbered.some((each) => /<[A-Z_]+_\d{9}>/.test(each))).toBe(false);
      }),
    );
  });

  it("say nothing of a value in another request, of another tenant, or under another secret", () => {
    const mail = "bob@x.org";
    const others = [
      one(mail),
      one(mail, scopeOf("acme", "r2")),
      one(mail, scopeOf("acm", "er1")),
      mask([{ text: mail, scope }], { key: "another secret of ours" })[0],
    ];
    expect(new Set(others).size).toBe(4);
    for (const masked of others) expect(masked).toMatch(/^<EMAIL_\d{9}>$/);
  });
});

describe("masked JSON", () => {
  const json = (value: unknown): unknown =>
    JSON.parse(mask([{ text: JSON.stringify(value), scope, form: "json" }], options)[0]!);

  it("stays JSON, whatever stands in it", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (given) => {
        const text = JSON.stringify(given);
        expect(() => void JSON.parse(mask([{ text, scope, form: "json" }], options)[0]!)).not.toThrow();
      }),
    );
  });

  it("is cleaned string by string, names of members too, and is what it was where nothing is found", () => {
    const mail = one("bob@x.org");
    expect(json({ a: ["Dear Ann,\nbob@x.org"], "bob@x.org": 1, n: null })).toEqual({
      a: [`Dear ${one("Dear Ann,").slice(5, -1)},\n${mail}`],
      [mail]: 1,
      n: null,
    });
    const plain = '{ "spaced" : [1.50, "-----BEGIN PRIVATE KEY"] }';
    expect(mask([{ text: plain, scope, form: "json" }], options)).toEqual([plain]);
  });

  it("is cleaned as a text where it is none, and withheld where it is too deep", () => {
    expect(mask([{ text: '{"a": bob@x.org', scope, form: "json" }], options)[0]).toBe(`{"a": ${one("bob@x.org")}`);
    const deep = `${"[".repeat(50_000)}"bob@x.org"${"]".repeat(50_000)}`;
    expect(mask([{ text: deep, scope, form: "json" }], options)[0]).not.toContain("bob@x.org");
  });
});

describe("a pseudonym", () => {
  it("is one for a name, and its own", () => {
    const ann = pseudonym(key, "user", "ann");
    expect(ann).toMatch(/^user-[0-9a-f]{16}$/);
    expect(pseudonym(key, "user", ann)).toBe(ann);
    expect(pseudonym(key, "author", "ann").slice(7)).not.toBe(ann.slice(5));
    expect(pseudonym("another secret!!", "user", "ann")).not.toBe(ann);
  });
});
