/** One waiter, any number of rings. A ring before the wait is not lost: the next wait returns at once. */
export class Wake {
  private rung = false;
  private resolve: (() => void) | null = null;

  /** From here on, only new rings count. */
  arm(): void {
    this.rung = false;
  }

  ring(): void {
    this.rung = true;
    this.resolve?.();
  }

  async wait(ms: number): Promise<void> {
    if (this.rung) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      this.resolve = resolve;
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
    this.resolve = null;
  }
}
