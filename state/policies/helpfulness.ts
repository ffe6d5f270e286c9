// The policy `proxy`: a model of helpfulness as ONNX, in base64, with its hash. This file is the
// codec of its record.
import { createHash } from "node:crypto";
import type { Policy } from "../../schemas/types.ts";
import { policyProblem, type PolicyProblem } from "./record.ts";

export const PROXY = "proxy";
/** How to read the body: base64 of an ONNX file; hash is the sha256 of the file. */
export const PROXY_KIND = "proxy/onnx/1";
/**
 * Of the body: it travels as one message to every plan process, and stands in ClickHouse once a
 * version.
 */
export const largestProxyBody = 700 * 1024;

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/**
 * Body and hash of the record. Throws RangeError when the model is empty or too large to be
 * published.
 */
export function encodeProxyBody(onnx: Uint8Array): { body: string; hash: string } {
  const body = Buffer.from(onnx).toString("base64");
  if (body.length === 0) throw new RangeError("the model is empty");
  if (body.length > largestProxyBody)
    throw new RangeError(
      `the model has ${body.length} bytes in base64, at most ${largestProxyBody} can be published: train a smaller one`,
    );
  return { body, hash: sha256(onnx) };
}

/** The model's bytes, or why this process can't use the record. */
export function decodeProxyPolicy(record: Policy, featureVersion: number): { onnx: Buffer } | PolicyProblem {
  const problem = policyProblem(record, { name: PROXY, kind: PROXY_KIND, featureVersion });
  if (problem !== null) return problem;
  const named = `${PROXY} ${record.version}`;
  if (record.body.length > largestProxyBody)
    return { problem: `${named} has ${record.body.length} bytes, more than ${largestProxyBody}` };
  const onnx = Buffer.from(record.body, "base64");
  const found = sha256(onnx);
  if (record.hash !== found) return { problem: `${named} has sha256 ${found}, its record says ${record.hash}` };
  return { onnx };
}
