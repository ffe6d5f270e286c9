// SIGHUP of a process of stages has it read arms and tenants again. Without a listener the signal
// would end the process: while it starts one is kept until the stages run, while it stops none
// counts. Reloads come one at a time, so that the newest file is in force in the end.

export type Hangups = ReturnType<typeof listenForHangups>;

export function listenForHangups() {
  let reload: (() => Promise<void>) | undefined;
  let isAsked = false;
  let isReloading = false;
  const reloadAll = async (): Promise<void> => {
    if (isReloading) return;
    isReloading = true;
    while (isAsked && reload !== undefined) {
      isAsked = false;
      await reload();
    }
    isReloading = false;
  };
  const hungUp = (): void => {
    isAsked = true;
    void reloadAll();
  };
  process.on("SIGHUP", hungUp);
  return {
    /** From now on each signal, and one that came before, calls it. It must not reject. */
    begin(next: () => Promise<void>): void {
      reload = next;
      void reloadAll();
    },
    /** The process stops. */
    end: (): void => void (reload = undefined),
    /** Signals have their default effect again. */
    close: (): void => void process.off("SIGHUP", hungUp),
  };
}
