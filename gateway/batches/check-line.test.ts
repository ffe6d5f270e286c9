import { describe, expect, test } from "vitest";
import { checkLine } from "./check-line.ts";

const lineOf = (value: unknown) => ({
  ...{ line: 7, tooLong: false },
  bytes: Buffer.from(typeof value === "string" ? value : JSON.stringify(value)),
});
const good = { custom_id: "a", method: "POST", url: "/v1/chat/completions", body: {} };

describe("a line", () => {
  test("that is good has its id and its text as it came", () => {
    const text = ` {"custom_id":"\\u0061\u00e9","method":"POST","url":"/v1/x","body":{"n":1.0}}`;
    expect(checkLine(lineOf(text))).toEqual({ text, customId: "aé", problem: null });
  });
  test.each([
    ["{", "invalid_json_line", null],
    ["{} {}", "invalid_json_line", null],
    ["[]", "invalid_json_line", null],
    ["null", "invalid_json_line", null],
    ["[".repeat(100_000), "invalid_json_line", null],
    [{ ...good, custom_id: undefined }, "missing_required_parameter", "custom_id"],
    [{ ...good, custom_id: 1 }, "missing_required_parameter", "custom_id"],
    [{ ...good, custom_id: "" }, "missing_required_parameter", "custom_id"],
    [{ ...good, custom_id: "x".repeat(513) }, "missing_required_parameter", "custom_id"],
    [{ ...good, method: "GET" }, "invalid_method", "method"],
    [{ ...good, url: null }, "missing_required_parameter", "url"],
    [{ ...good, body: "{}" }, "missing_required_parameter", "body"],
    [{ ...good, body: [] }, "missing_required_parameter", "body"],
  ])("%j: %s", (value, code, param) => {
    const { problem } = checkLine(lineOf(value));
    expect(problem).toMatchObject({ line: 7, code, param });
    expect(problem?.message).toMatch(/^Line 7: /);
    expect(problem?.message.length).toBeLessThan(200);
  });
  test("that is not UTF-8", () => {
    expect(checkLine({ line: 1, tooLong: false, bytes: Buffer.from([0x22, 0xff, 0x22]) }).problem).toMatchObject({
      code: "invalid_json_line",
    });
  });
  test("that is too long keeps its id if that stands at its beginning", () => {
    const cut = (text: string) => checkLine({ ...lineOf(text), tooLong: true });
    expect(cut('{"custom_id": "a\\"b", "body": {"x')).toMatchObject({ customId: 'a"b', problem: null });
    expect(cut('{"custom_id": "cut in the midd')).toMatchObject({ customId: null, problem: null });
    expect(cut('{"custom_id": "\\u12"')).toMatchObject({ customId: null, problem: null });
  });
});
