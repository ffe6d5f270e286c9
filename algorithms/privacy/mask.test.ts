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
/** The same value in spellings that read as it does. */
const spelled = fc
  .tuple(
    fc.constantFrom("ann@acmemail.io", "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00", "+44 20 7946 0958"),
    fc.array(fc.nat(6), { minLength: 8, maxLength: 8 }),
  )
  .map(([plain, how]) => {
    const other = Array.from(plain, (character, at) => {
      const code = character.charCodeAt(0);
      switch (how[at % how.length]) {
        case 0:
          return character === " " ? "\u00a0" : String.fromCharCode(code + 0xfee0);
        case 1:
          return character === " " ? "\u202f" : `${character}\u200d`;
        case 2:
          return character === " "
            ? "\u3000"
            : /\d/.test(character)
              ? String.fromCharCode(0x660 + code - 48)
              : character;
        case 3:
          return `\\u${code.toString(16).padStart(4, "0")}`;
        case 4:
          return plain.startsWith("DE") ? character.toLowerCase() : character;
        default:
          return character;
      }
    });
    return { plain, other: other.join("") };
  });

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

  it("have the placeholder of a value however it is spelled, alone and in JSON", () => {
    fc.assert(
      fc.property(spelled, ({ plain, other }) => {
        const placeholder = one(plain);
        expect(placeholder).toMatch(/^<[A-Z]+_\d{9}>$/);
        expect(one(`as ${other};`).replaceAll("\u200d", "")).toBe(`as ${placeholder};`);
        const within = JSON.parse(one(JSON.stringify([JSON.stringify([` ${other} `])]))) as [string];
        expect((JSON.parse(within[0]) as [string])[0].replaceAll("\u200d", "")).toBe(` ${placeholder} `);
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

  it("keeps its shape: strings stay strings, numbers numbers, JSON in strings JSON", () => {
    const args =
      '{"card": 4111111111111111, "big":9007199254740993, "phone": 4155550123, "mail": "ann\\u0040acmemail.io" }';
    const text = JSON.stringify({ message: { tool_calls: [{ function: { name: "charge", arguments: args } }] }, n: 1 });
    for (const form of ["json", "text"] as const) {
      const masked = mask([{ text, scope, form }], options)[0]!;
      const mail = one("ann@acmemail.io");
      expect(masked).toBe(
        JSON.stringify({
          message: {
            tool_calls: [
              {
                function: {
                  name: "charge",
                  arguments: `{"card": 0, "big":9007199254740993, "phone": 0, "mail": "${mail}" }`,
                },
              },
            ],
          },
          n: 1,
        }),
      );
      expect(mask([{ text: masked, scope, form }], options)).toEqual([masked]);
    }
    const deeper = JSON.stringify([JSON.stringify({ a: JSON.stringify(["4111 1111 1111 1111"]) })]);
    const cleaned = JSON.parse(one(deeper)) as [string];
    expect(JSON.parse((JSON.parse(cleaned[0]) as { a: string }).a)).toEqual([one("4111 1111 1111 1111")]);
    const prose = JSON.parse(
      one(JSON.stringify({ content: 'Result: {"card": 4111111111111111}\n{"card": 4}' })),
    ) as object;
    expect(prose).toEqual({ content: 'Result: {"card": 0}\n{"card": 4}' });
    expect(one('Here:\n```json\n{"card": 4111111111111111}\n```\nfor ann@acmemail.io')).toBe(
      `Here:\n\`\`\`json\n{"card": 0}\n\`\`\`\nfor ${one("ann@acmemail.io")}`,
    );
  });

  it.each([
    [
      '[[echo]] {"order": 4111111111111111, "ok": true} and {"a":["de89370400440532013000"]}, {"b": 4111111111111111',
      '[[echo]] {"order": 0, "ok": true} and {"a":["<I>"]}, {"b": <C>',
    ],
    ['{"a":4111111111111111}\n{"a":1}\n', '{"a":0}\n{"a":1}\n'],
    ["```json\n[4111111111111111]\n```", "```json\n[0]\n```"],
    [`${'{"'.repeat(100)}ann@acmemail.io`, `${'{"'.repeat(100)}<E>`],
    [
      '[4111111111111111, 41.11111111111111, 4.111111111111111e15, -4111111111111111, "4111111111111111"]',
      '[0, 41.11111111111111, 0, 0, "<C>"]',
    ],
    [
      '{"phone_number":"020 79460958","phones":[4155550123],"apiKey":"s3cr3tvalue","password":12345678}',
      '{"phone_number":"<P>","phones":[0],"apiKey":"<S>","password":0}',
    ],
    [
      '{"number":4155550123,"text":"4155550123 rows","id":1700000000000,"key":"s3cr3tvalue"}',
      '{"number":4155550123,"text":"4155550123 rows","id":1700000000000,"key":"s3cr3tvalue"}',
    ],
    [
      '{"a":"\\/x\\u00e9","b":1e400,"c":-0,"c":1.0,"d":true, "e":null}',
      '{"a":"\\/x\\u00e9","b":1e400,"c":-0,"c":1.0,"d":true, "e":null}',
    ],
    ['{"4111111111111111":{"__proto__":"de89\\u00a0370400440532013000"}}', '{"<C>":{"__proto__":"<I>"}}'],
  ])("%s", (given, expected) => {
    const masked = one(given);
    expect(masked.replace(/<(.)[A-Z]+_\d{9}>/g, "<$1>")).toBe(expected);
    expect(one(masked)).toBe(masked);
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
