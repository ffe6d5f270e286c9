// Reads the answer of an embeddings endpoint: numbers, or base64 of little-endian float32.
import { isObject } from "../../algorithms/text/json-shape.ts";
import { EmbedderError } from "./port.ts";

/**
 * Unit vectors one after the other, in the order of the texts; one without a length is NaN.
 * EmbedderError embedder_unavailable for an answer that is not one vector for each text.
 */
export function readEmbeddings(text: string, texts: number, dimension: number): Float32Array {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw wrong(`no JSON: ${text.slice(0, 100)}`);
  }
  const data = isObject(answer) ? answer["data"] : undefined;
  if (!Array.isArray(data)) throw wrong("no list in data");
  if (data.length !== texts) throw wrong(`${data.length} vectors for ${texts} texts`);
  const vectors = new Float32Array(texts * dimension);
  const seen = new Set<number>();
  data.forEach((one: unknown, place) => {
    if (!isObject(one)) throw wrong(`data[${place}] is no object`);
    const index = one["index"] ?? place;
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= texts || seen.has(index))
      throw wrong(`data[${place}].index is ${JSON.stringify(index)}`);
    seen.add(index);
    const numbers = numbersOf(one["embedding"], place);
    if (numbers.length !== dimension)
      throw wrong(`vectors of ${numbers.length} numbers, and embedder.dimension is ${dimension}`);
    const length = Math.hypot(...numbers);
    const isLength = length > 0 && Number.isFinite(length);
    for (let i = 0; i < dimension; i++) vectors[index * dimension + i] = isLength ? numbers[i]! / length : Number.NaN;
  });
  return vectors;
}

function numbersOf(embedding: unknown, place: number): ArrayLike<number> & Iterable<number> {
  if (typeof embedding === "string") {
    const bytes = Buffer.from(embedding, "base64");
    if (bytes.length % 4 !== 0) throw wrong(`data[${place}].embedding is no base64 of float32`);
    return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
  }
  if (!Array.isArray(embedding) || !embedding.every((one) => typeof one === "number"))
    throw wrong(`data[${place}].embedding is no list of numbers`);
  return embedding;
}

const wrong = (what: string): EmbedderError =>
  new EmbedderError("embedder_unavailable", `the embedding endpoint gave ${what}`);
