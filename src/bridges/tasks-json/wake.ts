/** One waiter, any number of rings; a ring before the wait is not lost. */
export class Wake {
  private isRung = false;
  private resolve: (() => void) | null = null;

  arm(): void {
    this.isRung = false;
  }

  ring(): void {
    this.isRung = true;
    this.resolve?.();
  }

  async wait(ms: number): Promise<void> {
    if (this.isRung) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.resolve = resolve;
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
    this.resolve = null;
  }
}

/** Or until the signal, whichever is first. */
export async function within(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
  });
}
