import { expect, it } from "vitest";
import type { HeldDocument } from "../connections/documents/port.ts";
import type { Piece } from "../schemas/types.ts";
import { findDocuments, withDocuments } from "./documents.ts";

const held: HeldDocument[] = [
  { tenant: "acme", id: "handbook", title: "The handbook", pieces: ["chapter one", "chapter two"] },
  { tenant: "acme", id: "note", title: null, pieces: ["a note"] },
];
const documents = {
  get: (tenant: string, id: string) => held.find((one) => one.tenant === tenant && one.id === id),
};
const piece = (kind: Piece["kind"], role: Piece["role"], text: string, id: string | null = null): Piece => ({
  ...{ kind, role, text, id },
});

it("gives the pieces in the order named, each once, the title before the first", () => {
  expect(findDocuments(documents, "acme", ["note", "handbook", "note", "handbook#2"])).toEqual({
    pieces: [
      piece("document", "system", "a note", "note"),
      piece("document", "system", "The handbook\n\nchapter one", "handbook"),
      piece("document", "system", "chapter two", "handbook"),
    ],
    missing: [],
    rough: [],
  });
});

it("names those that this tenant does not have", () => {
  expect(findDocuments(documents, "other", ["note", "handbook"])).toEqual({
    pieces: [],
    missing: ["note", "handbook"],
    rough: [],
  });
});

it("names those that were cut at lengths", () => {
  const rough = { get: () => ({ ...held[0]!, isRough: true }) };
  expect(findDocuments(rough, "acme", ["handbook"]).rough).toEqual(["handbook"]);
});

it("puts them behind the system texts, whatever follows", () => {
  const [system, user, note] = [
    piece("system", "system", "s"),
    piece("turn", "user", "u"),
    piece("document", "system", "d"),
  ];
  expect(withDocuments([system, user], [note])).toEqual([system, note, user]);
  expect(withDocuments([user], [note])).toEqual([note, user]);
  expect(withDocuments([system], [note])).toEqual([system, note]);
});
