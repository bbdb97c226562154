import type { RateState } from '../limits/counters.js';
import type { MetricFacts } from '../observability/metrics.js';
import type { PluginProblem } from '../plugins/discover.js';

/** What one process asks of the counts that the primary keeps for all. */
export type Ask =
  | { kind: 'rate'; tenant: string; rate: number; burst: number }
  | { kind: 'reserve'; name: string; limit: number; floor: number }
  | { kind: 'release'; name: string; floor: number };

/** What is answered to it, in the same order. */
export type Told = RateState | { granted: boolean; used: number } | null;

/** What a process says of itself once it serves. */
export interface Ready {
  kind: 'ready';
  /** To be written to standard output, once all are ready; of the first process alone. */
  text: string;
  /** How many are to serve, and how the log is written. */
  processes: number;
  logLevel: string;
  json: boolean;
  /** Milliseconds that it may take to end in order, and that its main thread may be blocked: while it serves, and while it ends. */
  stopMs: number;
  silentMs: number;
  silentAtEndMs: number;
  /** Helpers that do not come with the package, by their ids, with their files. */
  helpers: Record<string, string>;
  /** What of the plugins' folders it has left out, as `file: reason`; only an author's gateway starts so. */
  problems: string[];
}

/** A port that the supervisor listens on for all processes. */
export type Door = 'api' | 'site' | 'work';

/** From a process to the primary. */
export type ToPrimary =
  | Ready
  /** Its main thread goes on; `inspected` where a debugger may hold it. */
  | { kind: 'alive'; inspected: boolean }
  /** Takes connections of this port, which is opened where it is not open yet. */
  | { kind: 'listen'; door: Door; host: string; port: number }
  /** Takes no more of them. */
  | { kind: 'closed'; door: Door }
  /** A connection that was passed has come, and is its own from now on; or is not wanted. */
  | { kind: 'accepted'; id: number; ok: boolean }
  /** Answers no call any more that it has not begun to read. */
  | { kind: 'left' }
  /** With a connection on which nothing is asked. */
  | { kind: 'returned'; door: Door }
  /** Asks to be replaced when something changes in these folders. */
  | { kind: 'watch'; folders: string[]; pollMs: number | undefined }
  /** It cannot take the place of those that serve. */
  | { kind: 'failed'; problems: PluginProblem[] }
  | { kind: 'ask'; id: number; asks: Ask[] }
  | { kind: 'changed' }
  | { kind: 'gather'; id: number; facts: MetricFacts }
  | { kind: 'collected'; id: number; facts: MetricFacts };

/** From the primary to a process. */
export type ToMember =
  | { kind: 'signal'; signal: NodeJS.Signals }
  | { kind: 'listening'; door: Door; url: string }
  | { kind: 'refused'; door: Door; error: { code?: string | undefined; message: string } }
  /** With the connection. */
  | { kind: 'connection'; door: Door; id: number; isUsed: boolean }
  | { kind: 'load'; served: Served | undefined }
  | { kind: 'watched' }
  /** It serves from now on. */
  | { kind: 'begin' }
  /** Another one has taken its place. */
  | { kind: 'leave' }
  /** Why another process could not take its place. */
  | { kind: 'problems'; problems: PluginProblem[] }
  | { kind: 'told'; id: number; told: Told[] }
  | { kind: 'changed' }
  | { kind: 'collect'; id: number }
  | { kind: 'gathered'; id: number; facts: MetricFacts[] };

/** What the processes serve that a new one is to replace. */
export type Served = Pick<Ready, 'helpers' | 'problems'>;

/** Between two words of a process that its main thread goes on. */
export const aliveMs = 1_000;

/** The variable by which a process learns its place. No setting: it is taken out of the environment before anybody reads that. */
export const placeVariable = 'GATEWAY_PROCESS';

/** A process's place among those of its host. */
export interface Place {
  /** From 1. */
  number: number;
  /** The primary's process id. */
  primary: number;
  /** Where the site is, if that is known. */
  siteUrl?: string | undefined;
  /** It is started before it is needed, and reads no plugin before it is told to. */
  waits: boolean;
  /** What the processes serve that it is to replace. */
  served?: Served | undefined;
}
