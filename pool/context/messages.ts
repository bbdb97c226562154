/** What a handler asks to be fetched for it. */
export interface FetchRequest {
  url: string;
  /** The `Accept` header; anything where absent. */
  accept?: string;
  /** Bytes of the answer's body at most; what the gateway takes where absent. */
  maxBytes?: number;
}

/** An answer of any status. Names of headers are in lower case; values of one that came several times are joined. */
export interface Fetched {
  status: number;
  headers: Record<string, string>;
  /** Alone in their memory, which may be moved. */
  bytes: Uint8Array<ArrayBuffer>;
}

/** Why the gateway did not fetch, by its table of errors; the message is public. */
export interface Refusal {
  code: string;
  message: string;
}

/** Why a call is to be given up. */
export type Ending = 'gone' | 'deadline';

/** A line of a handler's log: `text` is a JSON object with `level` and, mostly, `msg`. */
export interface LogLine {
  service: string;
  request_id: string;
  text: string;
}

/** What a thread says besides its tasks' outcomes. A call is named by the number of its task. */
export type FromThread =
  | { kind: 'fetch'; task: number; id: number; request: FetchRequest }
  | { kind: 'log'; line: LogLine };

/** What a thread is told while it runs a task. */
export type ToThread =
  | { kind: 'fetched'; task: number; id: number; fetched: Fetched }
  | { kind: 'refused'; task: number; id: number; refusal: Refusal }
  | { kind: 'end'; task: number; why: Ending };
