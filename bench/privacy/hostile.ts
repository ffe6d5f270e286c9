// Texts made to take long: what patterns begin with, go on with or stop at, repeated; and texts in
// which everything is a finding.
const units =
  "sk-|sk-a|1|1 |12 |123 |1234 |4111 |1-|@|a@|a@b.|a@b.co |a.|é@a.|.|\"'|'\"{|I'm |I'm Ann Lee |My name is Ann Lee. |Mr. Lee |Aa |A b |Dear\n|Dear Ann,\n|thanks\n|Name: |" +
  "+1 |+4912345678 |(1) |020 |tel 1|DE89 |DE89|DE89370400440532013000 |password=|password=a1!b |Bearer a|://a:|://a:b@|-----BEGIN |-----BEGIN PRIVATE KEY-----|" +
  "eyJ|eyJ.|eyJaaaaaaaa.|ghp_|AKIA|1 Aa |1 Oak Street, |Aweg |Aweg 1 |rue A|1 rue A |via Aa |<EMAIL_1>|<|-|_|=|:|A|é| |\n|the quick brown fox jumps over the lazy dog. ";

export interface HostileText {
  name: string;
  text: string;
}

export const hostileTexts = (length: number): HostileText[] => [
  ...units.split("|").map((unit) => ({
    name: JSON.stringify(unit),
    text: unit.repeat(Math.ceil(length / unit.length)),
  })),
  { name: "nested quotes", text: `${'["'.repeat(length / 4)}${'"]'.repeat(length / 4)}` },
  { name: "one long word", text: `Aa${"a".repeat(length)}` },
];
