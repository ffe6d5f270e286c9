// A linear model as ONNX bytes, written by hand so that tests need neither Python nor a file: h =
// features . weights + bias.

const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)]);
/** A whole number as field `field` of a protobuf message. */
const whole = (field: number, value: number): number[] => [...varint(field << 3), ...varint(value)];
/** Text, bytes or a message. */
const part = (field: number, content: string | readonly number[]): number[] => {
  const bytes = typeof content === "string" ? [...Buffer.from(content)] : content;
  return [...varint((field << 3) | 2), ...varint(bytes.length), ...bytes];
};

const FLOAT = 1;
const tensor = (name: string, dims: readonly number[], values: readonly number[]): number[] => [
  ...dims.flatMap((size) => whole(1, size)),
  ...whole(2, FLOAT),
  ...part(8, name),
  ...part(9, [...new Uint8Array(Float32Array.from(values).buffer)]),
];
const matrix = (name: string, columns: number): number[] => {
  const shape = [...part(1, part(2, "rows")), ...part(1, whole(1, columns))];
  return [...part(1, name), ...part(2, part(1, [...whole(1, FLOAT), ...part(2, shape)]))];
};
const node = (operator: string, inputs: readonly string[], output: string): number[] => [
  ...inputs.flatMap((name) => part(1, name)),
  ...part(2, output),
  ...part(4, operator),
];

/** input: the name of the graph's input, "features" as it must be. */
export function linearModel(weights: readonly number[], bias: number, input = "features"): Uint8Array {
  const graph = [
    ...part(1, node("MatMul", [input, "weights"], "product")),
    ...part(1, node("Add", ["product", "bias"], "h")),
    ...part(2, "linear"),
    ...part(5, tensor("weights", [weights.length, 1], weights)),
    ...part(5, tensor("bias", [1], [bias])),
    ...part(11, matrix(input, weights.length)),
    ...part(12, matrix("h", 1)),
  ];
  return Uint8Array.from([...whole(1, 8), ...part(7, graph), ...part(8, [...part(1, ""), ...whole(2, 17)])]);
}
