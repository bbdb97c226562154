import type { IncomingHttpHeaders } from 'node:http';

/** What is said of a step. Never a key, a query, an input or anything made of them. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** Something that is done for a call, from when it was begun. */
export interface Step {
  set(attributes: Attributes): void;
  /** Ends it, with the error that it ended with; twice is once. */
  end(error?: unknown): void;
  /** The headers by which another server's steps become parts of this one (W3C Trace Context). */
  headers(): Readonly<Record<string, string>>;
}

/** How a call ended. */
export interface TraceEnd {
  /** The error's code; absent where it succeeded. */
  code?: string | undefined;
  /** Whether the gateway is to blame, and not its caller. */
  isFault?: boolean;
  attributes?: Attributes;
}

/** All that is done for one call. */
export interface Trace {
  /** 32 hexadecimal digits, by which other services' parts of the same trace are found, and the line of the log. */
  readonly id: string;
  /** What was called, such as `/media/add-border` or `/jobs/:id`: of a bounded number. */
  route?: string;
  set(attributes: Attributes): void;
  /** Begins a stage: after the one before, or as a part of it where that has not ended. */
  stage(name: string): Step;
  /** Begins what is a part of the stage that was begun last; `outgoing` where another server does it. */
  part(name: string, options?: { outgoing?: boolean }): Step;
  end(end: TraceEnd): void;
}

/** An item of a job that is begun. */
export interface TracedItem {
  service: string;
  /** The tenant's id. */
  tenant: string;
  job: string;
  index: number;
  attempt?: number;
}

/** Follows calls step by step and tells a collector of them. */
export interface Tracing {
  /** Begins with a request; it continues the trace that it came with, if any. */
  request(headers: IncomingHttpHeaders, method: string): Trace;
  /** Begins with an item of a job, in a trace of its own. */
  item(item: TracedItem): Trace;
  /** Sends what is left, for two seconds at most. Never rejects. */
  close(): Promise<void>;
}
