// SIGHUP of a process of stages has it read arms and tenants again. Without a listener the signal
// would end the process: while it starts one is kept until the stages run, while it stops none
// counts. Reloads come one at a time, so that the newest file is in force in the end.

export interface Hangups {
  /** From now on each signal, and one that came before, calls it. It must not reject. */
  begin(reload: () => Promise<void>): void;
  /** The process stops. */
  end(): void;
  /** Signals have their default effect again. */
  close(): void;
}

export function listenForHangups(): Hangups {
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
    begin(next) {
      reload = next;
      void reloadAll();
    },
    end: () => void (reload = undefined),
    close: () => void process.off("SIGHUP", hungUp),
  };
}
