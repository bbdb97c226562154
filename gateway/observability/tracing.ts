import type { IncomingHttpHeaders } from 'node:http';

/** Attributes of a span: never a key, a query, an input or anything derived from them. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A span of a call, from its start. */
export interface Step {
  set(attributes: Attributes): void;
  /** Ends it, with its error if any; later calls do nothing. */
  end(error?: unknown): void;
  /** The headers that make another server's spans parts of this one (W3C Trace Context). */
  headers(): Readonly<Record<string, string>>;
}

export interface TraceEnd {
  /** The error's code; absent where it succeeded. */
  code?: string | undefined;
  /** Whether the fault is the gateway's, not the caller's. */
  isFault?: boolean;
  attributes?: Attributes;
}

/** The trace of one call. */
export interface Trace {
  /** 32 hexadecimal digits, which the log has too. */
  readonly id: string;
  /** Such as `/media/add-border` or `/jobs/:id`: of a bounded number. */
  route?: string;
  set(attributes: Attributes): void;
  /** Starts a stage: after the one before, or inside it where that has not ended. */
  stage(name: string): Step;
  /** Starts a part of the last stage; `outgoing` where another server does it. */
  part(name: string, options?: { outgoing?: boolean }): Step;
  end(end: TraceEnd): void;
}

export interface TracedItem {
  service: string;
  /** The tenant's id. */
  tenant: string;
  job: string;
  index: number;
  attempt?: number;
}

/** Traces calls and sends the spans to a collector. */
export interface Tracing {
  /** Starts with a request; continues the trace that it came with, if any. */
  request(headers: IncomingHttpHeaders, method: string): Trace;
  /** Starts with an item of a job, in a trace of its own. */
  item(item: TracedItem): Trace;
  /** Sends what is left, for two seconds at most. Never rejects. */
  close(): Promise<void>;
}
