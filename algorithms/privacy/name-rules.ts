// Names of persons, by what stands before them: nothing but a dictionary tells a name from any
// other word with a capital. Cues in ten languages; docs/examples.md says what is missed.
import { shape, type Rule } from "./personal-rule.ts";
import { traits } from "./text-traits.ts";

/** "ab" as [aA][bB]: the cue of a name may be written either way, the name itself may not. */
const anyCase = (pattern: string): string =>
  pattern
    .replace(/\p{L}/gu, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`)
    .replaceAll("[ßSS]", "(?:ß|ss)");

const word = "\\p{Lu}[\\p{L}'’-]{0,30}\\p{L}";
const particles = "(?:(?:van|von|de|der|di|da|la|le|bin|al)[ \\t]+){0,3}";
const more = `[ \\t]+${particles}${word}`;
const person = `${word}(?:${more}){0,2}`;
const twoWords = `${word}(?:${more}){1,2}`;

// Capitalised words that follow a greeting or "this is" and are no names.
const noNames = new Set(
  (
    "all everyone everybody team there folks guys friends sir madam world bash linux unix windows mac macos docker kafka python java " +
    "javascript the a an my our your his her its their what how why when where which who not is are it this that i we you they he she i'm i’m " +
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october " +
    "november december english german french spanish hiring manager customer support service committee recruiter " +
    "damen herren herr frau monsieur madame señor señora señores signor signora unknown none nobody new"
  ).split(" "),
);
function isName(value: string): boolean {
  let end = 0;
  while (end < value.length && value.charCodeAt(end) !== 32 && value.charCodeAt(end) !== 9) end++;
  return !noNames.has(value.slice(0, end).toLowerCase());
}

const named =
  "my name is|my name['’]s|i am called|call me|ich heiße|mein name ist|je m['’]appelle|mon nom est|me llamo|mi nombre es|mi chiamo|il mio nome è|" +
  "mijn naam is|ik heet|o meu nome é|meu nome é|chamo-me|me chamo|nazywam się|jag heter|mitt namn är|jeg heter|jeg hedder";
const greetings =
  "Hi|Hello|Hey|Dear|Hallo|Liebe|Lieber|Bonjour|Salut|Cher|Chère|Hola|Estimado|Estimada|Querido|Querida|Ciao|Caro|Cara|Gentile|Beste|Geachte|Olá|Prezado|Prezada";
const partings =
  "regards|sincerely|yours truly|cheers|best wishes|thanks|thank you|viele grüße|liebe grüße|grüßen|cordialement|bien à vous|saludos|un saludo|" +
  "saluti|vriendelijke groet|groeten|atenciosamente|pozdrawiam|hälsningar|saludos cordiales";
const titles =
  "Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Herr|Herrn|Frau|Mme|Mlle|Monsieur|Madame|Sr|Sra|[Ss]eñor|[Ss]eñora|[Ss]ignor|[Ss]ignora|Sig|Dott|[Dd]hr|[Mm]evrouw|[Mm]eneer|Pan|Pani";
const fields =
  "name|full name|first name|last name|customer|patient|patient name|from|assigned to|author|signed|kontakt|contact|kunde|kundin|ansprechpartner|nom|nombre|cliente|naam|nome|imię i nazwisko";

const { capital, colonOrEquals, newline } = traits;

const name = (cue: Pick<Rule, "needs" | "least">, pattern: string): Rule =>
  shape("NAME", cue, new RegExp(pattern, "gu"), isName);

export const nameRules: readonly Rule[] = [
  name({ needs: capital, least: 10 }, `(?<!\\p{L})${anyCase(`(?:${named})`)}[ \\t]+(${person})`),
  // "I'm Ann Lee", "This is Ann Lee": two words, because "I'm German" is no name.
  name(
    { needs: capital, least: 9 },
    `(?<!\\p{L})(?:I am|I'm|I’m|[Tt]his is|[Ii]ch bin|[Jj]e suis|[Ii]ci|[Ss]oy|[Ss]ono|[Ii]k ben|[Ee]u sou)[ \\t]+(${twoWords})`,
  ),
  name(
    { needs: capital, least: 5 },
    `(?<!\\p{L})(?:${titles})(?!\\p{L})\\.?[ \\t]+(?:(?:Dr|Prof)\\.[ \\t]+){0,2}(${person})`,
  ),
  name({ needs: capital, least: 5 }, `(?:^|\\n)[ \\t]*(?:${greetings})[ \\t]+(${person})(?=[ \\t]*(?:[,!:\\n]|$))`),
  name(
    { needs: capital | newline, least: 9 },
    `(?<!\\p{L})${anyCase(`(?:${partings})`)}[,!.]?[ \\t]*\\n{1,4}[ \\t]*(${person})(?=[ \\t]*(?:\\n|$))`,
  ),
  // Forms and headers: a line "Customer: Ann Lee".
  name(
    { needs: capital | colonOrEquals, least: 9 },
    `(?:^|\\n)[ \\t]*${anyCase(`(?:${fields})`)}[ \\t]{0,4}[:=][ \\t]*(${twoWords})(?=[ \\t]*(?:[,;<(\\n]|$))`,
  ),
];
