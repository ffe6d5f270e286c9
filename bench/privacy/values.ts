// Values of personal data by kind and format, made at random: numbers that are reserved for fiction
// where a country has such, check digits that fit, keys of random characters in the shapes of their
// issuers. None is anybody's.
import { isIban, luhnValid } from "../../algorithms/privacy/check-digits.ts";
import type { PersonalKind } from "../../algorithms/privacy/pii.ts";
import type { Random } from "../../algorithms/numeric/random.ts";

const lists = {
  first:
    "Ada Ben Carla Dmitri Elif François Giulia Hannah Ibrahim José Katarzyna Lars María Noor Oluwaseun Priya Quentin Rosa Sören Tomás Ulrike Viktor Wei Ximena Yuki Zoë Aoife Björn Chloé Mehmet",
  last: "Okafor Lindqvist Müller García Rossi Dupont Kowalska Nguyen Haddad Silva Jansen Yamamoto O'Brien Ivanova Schmidt-Weber Fernández Patel Øverland Moreau Kaya Novák McAllister Bianchi Castro Tanaka Brückner Delgado Larsen Whitfield Adeyemi",
  host: "acme nordwind lumen-bikes altavista-travel papeterie-rivoli ferreteria-sol caffelungo kaasboer mail corp",
  tld: "com de fr es it nl co.uk io org pt pl",
};
const words = (name: keyof typeof lists): readonly string[] => lists[name].split(" ");

export interface Values {
  /** A value of the kind in the format; throws where there is no such format. */
  personal(kind: PersonalKind, format: string): string;
  /** A value that is no personal data: a commit, a version, an order number. */
  neutral(name: string): string;
}

export function createValues(random: Random): Values {
  const below = (n: number): number => Math.floor(random() * n);
  const one = <T>(from: readonly T[]): T => from[below(from.length)]!;
  const of = (alphabet: string, length: number): string =>
    Array.from({ length }, () => alphabet.charAt(below(alphabet.length))).join("");
  const digits = (length: number): string => of("0123456789", length);
  const letters = "abcdefghijklmnopqrstuvwxyz";
  const mixed = `${letters}${letters.toUpperCase()}0123456789`;
  /** Every 0 of the pattern but a leading one becomes a digit, every A a capital. */
  const fill = (pattern: string): string =>
    pattern.replace(/(?<!^|^\()0|A/g, (place) => (place === "0" ? digits(1) : of("ABCDEFGHJKLMNPQRSTUVWXYZ", 1)));
  /** With the digit that makes it fit, as "?" stands for it in the pattern. */
  const fitting = (pattern: string, choices: readonly string[], fits: (text: string) => boolean): string => {
    const filled = fill(pattern);
    return choices.map((choice) => filled.replace(/\?+/, choice)).find(fits) ?? filled;
  };
  const checks = Array.from({ length: 100 }, (_, i) => String(i).padStart(2, "0"));
  const name = (): string => `${one(words("first"))} ${one(words("last"))}`;
  const ascii = (text: string): string =>
    text
      .normalize("NFD")
      .replace(/[^A-Za-z-]/g, "")
      .toLowerCase();
  const house = (most: number): number => 1 + below(most);
  const password = (): string =>
    `${one(["blue", "Tiger", "sommer", "Xq", "luna"])}${digits(3)}${one(["!", "#", "_x", "Z"])}`;

  const formats: Record<string, Record<string, () => string>> = {
    NAME: { "": name, first: () => one(words("first")), last: () => one(words("last")) },
    EMAIL: {
      "": () => {
        const [first = "", last = ""] = name().split(" ").map(ascii);
        const local = one([
          `${first}.${last}`,
          `${first[0] ?? ""}${last}`,
          `${first}${digits(2)}`,
          `${last}_${first}`,
          `${first}+news`,
        ]);
        return `${local}@${one(words("host"))}.${one(words("tld"))}`;
      },
      odd: () =>
        `${one(["jürgen", "o'brien", "renée", "x", "a-b-c", "info_7"])}@${one(["büro-süd.de", "sub.mail.acme.museum", "ACME.COM"])}`,
    },
    PHONE: {
      us: () => fill(one(["(415) 555-0100", "212-555-0100", "303.555.0100", "1-617-555-0100", "650 555 0100"])),
      uk: () => fill(one(["020 7946 0000", "0161 496 0000", "(0117) 496 0000"])),
      ukm: () => fill(one(["07700 900000", "07700 900 000", "07700900000"])),
      plus: () =>
        fill(
          one([
            "+44 20 7946 0000",
            "+49 30 23125 000",
            "+33 1 99 00 00 00",
            "+34 910 000 000",
            "+1 (415) 555-0100",
            "+81-3-5550-0000",
            "+390640000000",
            "+55 11 95555-0000",
            "+91 98000 00000",
          ]),
        ),
      de: () => fill(one(["030 23125 000", "0221/4710 000", "089 99998-000", "(040) 66969 000"])),
      dem: () => fill(one(["0171 3920000", "0176-04069000", "0152 28817000"])),
      fr: () => fill(one(["01 99 00 00 00", "06.39.98.00.00", "0261910000", "03-53-01-00-00"])),
      es: () => fill(one(["910 000 000", "612 34 00 00", "655000000"])),
      it: () => fill(one(["06 4000 0000", "347 1230000", "02-4000000"])),
      nl: () => fill(one(["020 123 0000", "06-12340000", "0612340000"])),
      br: () => fill(one(["(11) 95555-0000", "(21) 3555-0000"])),
      jp: () => fill(one(["03-5550-0000", "090-5550-0000", "06-6550-0000"])),
      in: () => fill(one(["98000 00000", "9800000000", "080-2550 0000"])),
      plain: () => fill(one(["4155550100", "07700900000", "4923125000"])),
    },
    CARD: {
      "": () =>
        fitting(
          one([
            "4000 0000 0000 000?",
            "400000000000000?",
            "5100-0000-0000-000?",
            "2221 0000 0000 000?",
            "340000000000000?",
            "3700 000000 0000?",
            "6011 0000 0000 000?",
            "360000 0000 000?",
            "4000-0000-0000-000?",
          ]),
          checks.slice(0, 10).map((check) => check[1]!),
          (text) => luhnValid(text.replace(/[ -]/g, "")),
        ),
    },
    IBAN: {
      "": () => {
        const pattern = one([
          "DE??000000000000000000",
          "GB??AAAA00000000000000",
          "FR??00000000000000000000000",
          "NL??AAAA0000000000",
          "ES??00000000000000000000",
          "IT??A0000000000000000000000",
          "CH??00000000000000000",
          "PL??000000000000000000000000",
          "SE??00000000000000000000",
        ]);
        const account = fitting(pattern, checks, (text) => isIban(text));
        return one([account, account.replace(/(.{4})(?=.)/g, "$1 "), account.replace(/(.{4})(?=.)/g, "$1 ")]);
      },
    },
    ADDRESS: {
      us: () =>
        `${house(9_000)} ${one(["Maple Street", "N. Oak Ave", "Sunset Boulevard", "W 42nd St, Apt 7", "Old Mill Road", "Cedar Ln"])}, ${one(["Springfield, IL 62701", "Dayton, OH 45402", "Austin, TX"])}`,
      uk: () =>
        `${house(200)} ${one(["High Street", "Church Lane", "Station Road", "Victoria Terrace"])}, ${one(["Leeds LS1 4AB", "Bristol BS1 5TR", "Oxford"])}`,
      de: () =>
        `${one(["Lindenallee", "Hauptstraße", "Goethestr.", "Am Markt", "Berliner Straße", "Bahnhofsplatz", "Karl-Marx-Allee"])} ${house(120)}${one(["", "a"])}${one([", 10115 Berlin", ", 80331 München", ""])}`,
      fr: () =>
        `${house(150)}${one(["", " bis", ","])} ${one(["rue de la Paix", "avenue Victor Hugo", "boulevard Saint-Michel", "place des Vosges", "chemin du Moulin"])}${one([", 75002 Paris", ", 69001 Lyon", ""])}`,
      es: () =>
        `${one(["calle Mayor", "Calle de Alcalá", "avenida de América", "C/ Serrano", "plaza de España"])}${one([" ", ", "])}${house(90)}${one([", 28013 Madrid", ", 46001 Valencia", ""])}`,
      it: () =>
        `${one(["via Roma", "Via Giuseppe Verdi", "piazza Garibaldi", "corso Vittorio Emanuele", "viale dei Mille"])}${one([" ", ", "])}${house(90)}${one([", 20121 Milano", ", 10123 Torino", ""])}`,
      nl: () =>
        `${one(["Kerkstraat", "Prinsengracht", "Stationsweg", "Dorpsplein"])} ${house(300)}${one([", 1017 AB Amsterdam", ", 3511 CE Utrecht", ""])}`,
      pt: () => `${one(["Rua Augusta", "Avenida da Liberdade", "Rua das Flores"])}, ${house(200)}`,
      box: () => one([`P.O. Box ${house(9_000)}`, `PO Box ${house(900)}`]),
      boxde: () => `Postfach ${house(9_000)}`,
    },
    SECRET: {
      openai: () => one([`sk-proj-${of(mixed, 46)}9`, `sk-${of(mixed, 46)}7`]),
      anthropic: () => `sk-ant-api03-${of(mixed, 60)}4AA`,
      github: () => one([`ghp_${of(mixed, 36)}`, `github_pat_${of(mixed, 22)}_${of(mixed, 40)}`]),
      aws: () => `AKIA${of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)}`,
      awssecret: () => `${of(mixed, 20)}/${of(mixed, 12)}+${of(mixed, 6)}`,
      slack: () => `xox${one(["b", "p"])}-${digits(12)}-${of(mixed, 24)}`,
      slackhook: () => `T${of("ABCDEFGHJK0123456789", 8)}/B${of("ABCDEFGHJK0123456789", 8)}/${of(mixed, 24)}`,
      google: () => `AIza${of(mixed, 35)}`,
      hf: () => `hf_${of(mixed, 34)}`,
      npm: () => `npm_${of(mixed, 36)}`,
      gitlab: () => `glpat-${of(mixed, 20)}`,
      stripe: () => `${one(["sk", "rk"])}_live_${of(mixed, 23)}8`,
      jwt: () => `eyJ${of(mixed, 33)}.eyJ${of(mixed, 50)}.${of(`${mixed}-_`, 43)}`,
      password,
      sendgrid: () => `SG.${of(mixed, 22)}.${of(mixed, 43)}`,
      telegram: () => `${digits(9)}:AA${of(mixed, 33)}`,
      azure: () => `${of(mixed, 86)}==`,
      hex: () => `${of("0123456789abcdef", 31)}7`,
      pem: () => `-----BEGIN PRIVATE KEY-----\n${of(mixed, 60)}\n${of(mixed, 30)}=\n-----END PRIVATE KEY-----`,
      basic: () => `${of(mixed, 26)}3=`,
      pypi: () => `pypi-AgEIcHlwaS5vcmc${of(mixed, 80)}`,
      docker: () => `dckr_pat_${of(mixed, 27)}`,
    },
  };
  const hex = "0123456789abcdef";
  const neutrals: Record<string, () => string> = {
    commit: () => of(hex, 40),
    short: () => of(hex, 7),
    hash: () => of(hex, 64),
    version: () => `${below(30)}.${below(20)}.${below(90)}`,
    order: () => one([fill("2024-000000"), fill("A0000000"), fill("403-0000000-0000000"), `9${digits(9)}`]),
    uuid: () => [8, 4, 4, 4, 12].map((length) => of(hex, length)).join("-"),
  };
  return {
    personal(kind, format) {
      const make = formats[kind]?.[format];
      if (make === undefined) throw new Error(`the sample has no ${kind} in the format "${format}"`);
      return make();
    },
    neutral(what) {
      const make = neutrals[what];
      if (make === undefined) throw new Error(`the sample has no value called "${what}"`);
      return make();
    },
  };
}
