import type { LogLine } from './messages.js';

/** Where a thread's handlers log. */
export interface LogParts {
  /** Lines below it are not made. */
  logLevel: string;
  write(line: LogLine): void;
}

/** What every line of a call's log says. */
export interface CallIds {
  service: string;
  request_id: string;
}
