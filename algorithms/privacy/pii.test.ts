import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isCardNumber, luhnValid } from "./check-digits.ts";
import { findPersonalData, replacePersonalData } from "./pii.ts";

const clean = (text: string): string => replacePersonalData([text]).texts[0] ?? "";

describe("personal data is replaced", () => {
  it.each([
    ["write to ann.lee+news@mail.example.co.uk.", "write to <EMAIL_1>."],
    ["mail a@x.org, b@x.org and A@x.org", "mail <EMAIL_1>, <EMAIL_2> and <EMAIL_1>"],
    ["call +44 20 7946 0958 now", "call <PHONE_1> now"],
    ["(415) 555-2671 or 415-555-2672", "<PHONE_1> or <PHONE_2>"],
    ["phone: 030 1234567", "phone: <PHONE_1>"],
    ["text me at 0176 12345678", "text me at <PHONE_1>"],
    ["card 4111 1111 1111 1111, thanks", "card <CARD_1>, thanks"],
    ["order 2024 3782-822463-10005 due", "order 2024 <CARD_1> due"],
    ["pay DE89 3704 0044 0532 0130 00 TODAY", "pay <IBAN_1> TODAY"],
    ["lives at 221 Baker Street, London", "lives at <ADDRESS_1>"],
    ["ship to 12 N. Main St, Springfield, IL 62701 please", "ship to <ADDRESS_1> please"],
    ["Lindenallee 7a, 10115 Berlin", "<ADDRESS_1>"],
    ["Karl-Marx-Allee 7, Am-Öweg 4, A-B-C-D-weg 1, -Aweg 2", "<ADDRESS_1>, <ADDRESS_2>, <ADDRESS_3>, -Aweg 2"],
    ["to 'ann@mailbox.com', d'eve@mailbox.com or -x@mailbox.com", "to '<EMAIL_1>', <EMAIL_2> or -x@mailbox.com"],
    ["1.4111 1111 1111 1111 or 4111-1111-1111-1111x", "1.4111 1111 1111 1111 or 4111-1111-1111-1111x"],
    ["by GB82-WEST-1234-5698-7654-32, de89 3704 0044 0532 0130 00", "by <IBAN_1>, <IBAN_2>"],
    [
      "iban de89370400440532013000 or DE89 3704-0044 0532 0130 00, Gb82west12345698765432",
      "iban <IBAN_1> or <IBAN_1>, <IBAN_2>",
    ],
    [
      "4111111111111111 is 4111-1111-1111-1111 is 4111\u00a01111\u20091111\u202f1111",
      "<CARD_1> is <CARD_1> is <CARD_1>",
    ],
    ["\uff14111\u30001111\u20131111\u22121111, ann\uff20ｂｉｇ.io", "<CARD_1>, <EMAIL_1>"],
    ["a\u200bnn@big\u00ad.io\u200b, ann@b\u2060ig.io", "<EMAIL_1>\u200b, <EMAIL_1>"],
    [
      "call +\u0664\u0664 \u0662\u0660 \u0667\u0669\u0664\u0666 \u0660\u0669\u0665\u0668 or +44 20 7946 0958",
      "call <PHONE_1> or <PHONE_1>",
    ],
    ["card \u{1d7d2}111 1111 1111 111\u{1d7d9}", "card <CARD_1>"],
    [
      '{"cut": "ann\\u0040big.io \\u0034111 1111 1111 1111 https:\\/\\/bob:s3cret@host',
      '{"cut": "<EMAIL_1> <CARD_1> https:\\/\\/bob:<SECRET_1>@host',
    ],
    ["Dear\u00a0Robert,\nthe rest", "Dear\u00a0<NAME_1>,\nthe rest"],
    ["BEARER abcdef0123456789abcdef", "BEARER <SECRET_1>"],
    ["P.O. Box 123", "<ADDRESS_1>"],
    ["My name is Ada Lovelace and I code", "My name is <NAME_1> and I code"],
    ["I'm Ann Lee.", "I'm <NAME_1>."],
    ["ask Dr. Jane van Dyke today", "ask Dr. <NAME_1> today"],
    ["Dear Robert,\nthe rest", "Dear <NAME_1>,\nthe rest"],
    ["do it\nBest regards,\nAnn Lee", "do it\nBest regards,\n<NAME_1>"],
    ["export KEY=sk-proj-abcdefghijklmnop1234", "export KEY=<SECRET_1>"],
    ["aws AKIAIOSFODNN7EXAMPLE", "aws <SECRET_1>"],
    ["ghp_0123456789abcdefghijABCDEFGHIJ012345", "<SECRET_1>"],
    ["token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9", "token <SECRET_1>"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- ok", "<SECRET_1> ok"],
    ["mysql --password=hunter22 -u root", "mysql --password=<SECRET_1> -u root"],
    ["sent to 12 bis, rue de la Paix, 75002 Paris", "sent to <ADDRESS_1>"],
    ["Vivo en calle Mayor 5, 28013 Madrid.", "Vivo en <ADDRESS_1>."],
    ["Ik woon op Prinsengracht 12, 1017 AB Amsterdam", "Ik woon op <ADDRESS_1>"],
    ["21 Station Road, Leeds LS1 4AB in May", "<ADDRESS_1> in May"],
    ["le 01 99 00 12 34.", "le <PHONE_1>."],
    ["Mi teléfono es 910 123 456.", "Mi teléfono es <PHONE_1>."],
    ["Je m'appelle Zoë Moreau et", "Je m'appelle <NAME_1> et"],
    ["Customer: Ann Lee\nIssue: none", "Customer: <NAME_1>\nIssue: none"],
    ["curl -u admin:blue482! https://host", "curl -u admin:<SECRET_1> https://host"],
    ["curl https://bob:s3cret@host/x", "curl https://bob:<SECRET_1>@host/x"],
    ["Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer <SECRET_1>"],
  ])("%j", (text, expected) => {
    expect(clean(text)).toBe(expected);
  });

  it("with the same placeholder in question and answer, counted once", () => {
    expect(replacePersonalData(["mail bob@x.org", "mail -s hi bob@x.org # not eve@x.org"])).toEqual({
      texts: ["mail <EMAIL_1>", "mail -s hi <EMAIL_1> # not <EMAIL_2>"],
      found: { EMAIL: 2 },
    });
  });

  it("counting on after placeholders that are there", () => {
    expect(clean("<EMAIL_3> and bob@x.org")).toBe("<EMAIL_3> and <EMAIL_4>");
  });

  it("public addresses of the internet only when asked for", () => {
    const text = "ping 8.8.8.8 and 192.168.0.1, mask 255.255.255.0";
    expect(clean(text)).toBe(text);
    expect(replacePersonalData([text], { ipAddresses: true }).texts).toEqual([
      "ping <IP_1> and 192.168.0.1, mask 255.255.255.0",
    ]);
  });
});

describe("what is no personal data stays as it is", () => {
  it.each([
    "git clone git@github.com:org/repo.git",
    "find . -size +10000000 -mtime -7",
    "tail -n +1000001 huge.log | head -n 100",
    "date -d @1700000000 +%Y-%m-%d",
    "touch -t 202401011230 f && chmod 0644 f",
    "echo 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
    "mysql -p$PASSWORD --password=password; passwd: ./file",
    "what is the secret is that it works",
    "I'm German and I'm Not sure",
    "the password is wrong; token = tokenizer.next(); curl -u bob:secret localhost",
    "DE44 3704 0044 is the name of a plan, DE89370400440532013001 is off by one",
    "Via email and via 3 different routes; the 12 Best Places",
    "docker run -p 8080:80 nginx",
    "Dear all,\nhello World!",
    "pip install numpy==1.26.4 torch==2.1.0.dev20230901",
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "ssh bob@example.org -p 22",
    "uuid 123e4567-e89b-12d3-a456-426614174000",
    "it\u2019s 10\u00a0000\u00a0km \u2013 \u0661\u0662 \uff21\uff22\uff23, \\u0040 and s\\/a\\/b\\/",
    "de88370400440532013000 and xde89370400440532013000 are none",
  ])("%j", (text) => {
    expect(clean(text)).toBe(text);
  });

  it("the sample of shell questions and commands", () => {
    const file = new URL("../../deploy/shell-pairs.jsonl", import.meta.url);
    const changed = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { request: string; response: string })
      .filter(({ request, response }) => clean(request) !== request || clean(response) !== response);
    expect(changed).toEqual([]);
  });
});

/** Cards as issuers make them: a prefix, random digits, the check digit. */
const card = fc
  .tuple(
    fc.constantFrom(["4", 16], ["51", 16], ["2221", 16], ["34", 15], ["6011", 16], ["4", 13], ["62", 19]),
    fc.nat(),
    fc.nat(),
  )
  .map(([[prefix, length], a, b]) => {
    const body = `${String(prefix)}${String(a)}${String(b)}`.padEnd(Number(length), "7").slice(0, Number(length) - 1);
    return [...Array(10).keys()].map((check) => `${body}${check}`).find(luhnValid) ?? "";
  });
const written = fc
  .tuple(card, fc.constantFrom("", " ", "-"))
  .map(([digits, separator]) => digits.replace(/(\d{4})(?=\d)/g, `$1${separator}`));
const filler = fc.oneof(
  fc.constantFrom(
    "pay with ",
    ", now",
    " order 2024 ",
    "\n",
    ' "x" ',
    " | ",
    "my name is ",
    " 12 ",
    "<EMAIL_1>",
    "Dear ",
  ),
  fc.string({ maxLength: 12 }),
);

describe("for any text", () => {
  it("no card number is left standing", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(filler, written), { maxLength: 4 }), (parts) => {
        const text = parts.map(([before, number]) => `${before} ${number} `).join("");
        for (const run of clean(text).matchAll(/(?<![\w.])\d+(?:[ -]\d+)*(?!\w|\.\d)/g)) {
          const groups = run[0].split(/[ -]/);
          for (let i = 0; i < groups.length; i++)
            for (let j = i + 1; j <= groups.length; j++)
              if (groups.slice(i, j - 1).every(({ length }) => length >= 3))
                expect(isCardNumber(groups.slice(i, j).join(""))).toBe(false);
        }
      }),
    );
  });

  const piece = fc.oneof(
    filler,
    written,
    fc.constantFrom(
      "bob@x.org",
      "git@x.org",
      "+44 20 7946 0958",
      "Dr. Who",
      "Thanks,\nAnn Lee",
      "password=hunter22",
      "Hauptstraße 5",
      "I am Ann Lee",
      "DE89370400440532013000",
      "sk-abcdefghijklmnop1234",
      "12 Oak Street",
      "call 555 1234567",
    ),
  );
  it("doing it again changes nothing", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), fc.array(piece, { maxLength: 4 }), (one, other) => {
        const once = replacePersonalData([one.join(""), other.join(" ")], { ipAddresses: true }).texts;
        expect(replacePersonalData(once, { ipAddresses: true })).toEqual({ texts: once, found: {} });
      }),
      { numRuns: 500 },
    );
  });

  it("findings are in order, do not overlap, and everything between them stays as it is", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (parts) => {
        const text = parts.join("");
        let from = 0;
        let kept = "";
        for (const { start, end } of findPersonalData(text)) {
          expect(start).toBeGreaterThanOrEqual(from);
          expect(end).toBeGreaterThan(start);
          kept += `${text.slice(from, start)}\0`;
          from = end;
        }
        kept += text.slice(from);
        const found = [...text.matchAll(/<EMAIL_1>/g)].length;
        const replaced = clean(text).replace(/<[A-Z]+_\d+>/g, "\0");
        expect(replaced).toBe(kept.replaceAll("<EMAIL_1>", "\0"));
        if (found === 0 && kept === text) expect(clean(text)).toBe(text);
      }),
    );
  });

  it("it takes time in proportion to the length", () => {
    for (const unit of ["a", "1", "1 ", "a@", "A ", "+1 ", ". ", "DE89 ", "password=", "Dear ", "-"]) {
      const text = unit.repeat(Math.ceil(20_000 / unit.length));
      expect(clean(clean(text))).toBe(clean(text));
    }
  });
});
