import pino, { type Logger } from "pino";

export type { Logger };

const logLevels = ["trace", "debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** One JSON object per line on stderr; stdout belongs to answers. */
export function createLogger(level: LogLevel, write?: (line: string) => void): Logger {
  const destination = write ? { write } : pino.destination({ fd: 2, sync: false, minLength: 0 });
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}
