// A scorer of the addon. Its questions wait for each other here, not on threads of the pool.
import { calling, llamaError, type NativeScorer } from "./native.ts";
import { LlamaError, type LlamaScorer, type Prompt } from "./port.ts";

export function createLlamaScorer(native: NativeScorer): LlamaScorer {
  let closed = false;
  let last: Promise<unknown> = Promise.resolve();

  function inTurn<Result>(ask: () => Promise<Result>): Promise<Result> {
    const answer = last.then(async () => {
      if (closed) throw new LlamaError("closed", "the scorer was closed");
      try {
        return await calling(ask);
      } catch (error) {
        throw llamaError(error);
      }
    });
    last = answer.catch(() => undefined);
    return answer;
  }

  return {
    attention: ({ tokens, links, starts, layers = 0 }) =>
      inTurn(() => native.attention({ tokens, links: nativeLinks(links), starts: Int32Array.from(starts), layers })),
    deviations: ({ tokens, links, layers: { begin, end } = { begin: 1, end: 2 } }) =>
      inTurn(() => native.deviations({ tokens, links: nativeLinks(links), firstLayer: begin, endLayer: end })),
    async close() {
      closed = true;
      await last;
      native.close();
    },
  };
}

const nativeLinks = (links: Prompt["links"] = []): { blob: Uint8Array; position: number }[] =>
  links.map(({ blob, position }) => ({ blob, position }));
