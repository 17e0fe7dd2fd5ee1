// This process's clock, corrected by the service's: hosts whose clocks differ would move the org's time to and fro.

import type { ServiceTime } from "./client.js";

/** The service gives its time in whole seconds. */
const secondMs = 1_000;
const warnAboveMs = 5_000;

export class ServiceClock {
  private offsetMs = 0;

  constructor(private readonly processClock: () => number = Date.now) {}

  /** An answer says when the service gave it: the correction changes as little as it must. */
  observe(time: ServiceTime | undefined): void {
    if (!time) return;
    const least = time.date - time.receivedAt;
    const most = time.date + secondMs - time.sentAt;
    this.offsetMs = Math.min(Math.max(this.offsetMs, least), most);
  }

  now(): number {
    return Math.round(this.processClock() + this.offsetMs);
  }

  get warning(): string | null {
    if (Math.abs(this.offsetMs) <= warnAboveMs) return null;
    const seconds = Math.round(Math.abs(this.offsetMs) / 1_000);
    const direction = this.offsetMs < 0 ? "ahead of" : "behind";
    return `The clock of this machine is ${seconds} s ${direction} the clock of DynamoDB, whose time is used. Synchronize it.`;
  }
}
