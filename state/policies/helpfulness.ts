// The codec of the policy `helpfulness`: an ONNX model in base64, with its hash.
import { createHash } from "node:crypto";
import type { Policy } from "../../schemas/types.ts";
import { policyProblem, type PolicyProblem } from "./record.ts";

export const HELPFULNESS = "helpfulness";
/** How to read the body: base64 of an ONNX file; hash is the sha256 of the file. */
export const HELPFULNESS_KIND = "helpfulness/onnx/1";
/** Size limit of the body: a message to every plan process, a row a version. */
export const largestHelpfulnessBody = 700 * 1024;

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Body and hash. RangeError when the model is empty or too large. */
export function encodeHelpfulnessBody(onnx: Uint8Array): { body: string; hash: string } {
  const body = Buffer.from(onnx).toString("base64");
  if (body.length === 0) throw new RangeError("the model is empty");
  if (body.length > largestHelpfulnessBody)
    throw new RangeError(
      `the model has ${body.length} bytes in base64, at most ${largestHelpfulnessBody} can be published: train a smaller one`,
    );
  return { body, hash: sha256(onnx) };
}

/** The model's bytes, or why this process can't use the record. */
export function decodeHelpfulnessPolicy(record: Policy, featureVersion: number): { onnx: Buffer } | PolicyProblem {
  const problem = policyProblem(record, { name: HELPFULNESS, kind: HELPFULNESS_KIND, featureVersion });
  if (problem !== null) return problem;
  const named = `${HELPFULNESS} ${record.version}`;
  if (record.body.length > largestHelpfulnessBody)
    return { problem: `${named} has ${record.body.length} bytes, more than ${largestHelpfulnessBody}` };
  const onnx = Buffer.from(record.body, "base64");
  const found = sha256(onnx);
  if (record.hash !== found) return { problem: `${named} has sha256 ${found}, its record says ${record.hash}` };
  return { onnx };
}
