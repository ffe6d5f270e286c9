// A fenced producer, initialised before the first publication and after a failed one.
import type { FencedProducer, Lease } from "./singleton.ts";

export function leaseWriter<T extends string>(lease: Lease<T>): FencedProducer<T> {
  let isWriter = false;
  const initialise = async (): Promise<void> => {
    isWriter = false;
    await lease.initialise();
    isWriter = true;
  };
  return {
    initialise,
    async publish(messages) {
      if (!isWriter) await initialise();
      isWriter = false;
      await lease.publish(messages);
      isWriter = true;
    },
  };
}
