import avro from "avsc";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBoundsCheck } from "./bounds.ts";

const items: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  boolean: fc.boolean(),
  float: fc.float(),
  double: fc.double(),
  long: fc.integer(),
  string: fc.string(),
};

describe("bounds", () => {
  it.each(Object.keys(items))(
    "of a list of %s: whole it is sound, cut anywhere or followed by a byte it is not",
    (name) => {
      const type = avro.Type.forSchema({ type: "array", items: name });
      const check = createBoundsCheck(type.schema());
      fc.assert(
        fc.property(fc.array(items[name]!, { maxLength: 20 }), fc.nat(), (list, place) => {
          const bytes = type.toBuffer(list);
          expect(check(bytes)).toBe(null);
          expect(check(bytes.subarray(0, place % bytes.length))).not.toBe(null);
          expect(check(Buffer.concat([bytes, Buffer.from([0])]))).toMatch(/1 bytes too many/);
        }),
      );
    },
  );

  it("believes a list of numbers only as far as its bytes go", () => {
    const check = createBoundsCheck({ type: "array", items: "double" });
    const list = (count: number, bytes: number): Buffer =>
      Buffer.concat([avro.Type.forSchema("long").toBuffer(count), Buffer.alloc(bytes + 1)]);
    expect(check(list(3, 24))).toBe(null);
    expect(check(list(4, 24))).toBe("the record is cut short");
    expect(check(list(2 ** 40, 24))).toMatch(/claims 1099511627776 items/);
  });
});
