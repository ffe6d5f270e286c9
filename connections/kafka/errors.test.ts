import { describe, expect, test } from "vitest";
import { classifyKafkaError, kafkaErrorType, TransactionAborted, TransactionOutcomeUnknown } from "./errors.ts";

const protocolError = (type: string, retriable = false): Error =>
  Object.assign(new Error(type), { name: "KafkaJSProtocolError", type, retriable });
const wrapped = (cause: Error): Error =>
  Object.assign(new Error("gave up"), { name: "KafkaJSNumberOfRetriesExceeded", originalError: cause });

describe("errors of Kafka", () => {
  test.each([
    ["ILLEGAL_GENERATION", "fenced"],
    ["UNKNOWN_MEMBER_ID", "fenced"],
    ["INVALID_PRODUCER_EPOCH", "producer-lost"],
    ["PRODUCER_FENCED", "producer-lost"],
    ["INVALID_PRODUCER_ID_MAPPING", "producer-lost"],
    ["TRANSACTION_ABORTABLE", "fatal"],
    ["MESSAGE_TOO_LARGE", "fatal"],
  ] as const)("%s is %s, wrapped or not", (type, kind) => {
    expect(classifyKafkaError(protocolError(type))).toBe(kind);
    expect(kafkaErrorType(wrapped(protocolError(type)))).toBe(type);
    if (kind !== "fatal") expect(classifyKafkaError(wrapped(protocolError(type)))).toBe(kind);
  });

  test.each(["KafkaJSConnectionError", "KafkaJSRequestTimeoutError", "KafkaJSGroupCoordinatorNotFound"])(
    "%s passes by itself",
    (name) => {
      expect(classifyKafkaError(Object.assign(new Error("away"), { name }))).toBe("retriable");
    },
  );

  test("what the broker calls retriable is, and what we don't know is not", () => {
    expect(classifyKafkaError(protocolError("REBALANCE_IN_PROGRESS", true))).toBe("retriable");
    expect(classifyKafkaError(new TypeError("a bug"))).toBe("fatal");
    expect(classifyKafkaError(undefined)).toBe("fatal");
    expect(kafkaErrorType("text")).toBeUndefined();
  });

  test("a chain of causes that bites its own tail comes to an end", () => {
    const first: { cause?: unknown } = new Error("first");
    first.cause = first;
    expect(kafkaErrorType(first)).toBeUndefined();
  });

  test("our own say what was behind them", () => {
    expect(new TransactionAborted(new Error("too large"), false).message).toBe("transaction aborted: too large");
    expect(new TransactionOutcomeUnknown("cut").message).toBe("outcome of the transaction unknown: cut");
  });
});
