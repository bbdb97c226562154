import type { RateState } from '../limits/rate.js';
import type { MetricFacts } from '../observability/metrics.js';

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
  ports: Ports;
  /** Milliseconds that it may take to end in order, and that its main thread may be blocked: while it serves, and while it ends. */
  stopMs: number;
  silentMs: number;
  silentAtEndMs: number;
}

/** Where the first start listened, for those that come later. */
export interface Ports {
  api?: string | undefined;
  site?: string | undefined;
}

/** From a process to the primary. */
export type ToPrimary =
  | Ready
  /** Its main thread goes on; `inspected` where a debugger may hold it. */
  | { kind: 'alive'; inspected: boolean }
  | { kind: 'ask'; id: number; asks: Ask[] }
  | { kind: 'changed' }
  | { kind: 'gather'; id: number; facts: MetricFacts }
  | { kind: 'collected'; id: number; facts: MetricFacts };

/** From the primary to a process. */
export type ToMember =
  | { kind: 'signal'; signal: NodeJS.Signals }
  | { kind: 'told'; id: number; told: Told[] }
  | { kind: 'changed' }
  | { kind: 'collect'; id: number }
  | { kind: 'gathered'; id: number; facts: MetricFacts[] };

/** Between two words of a process that its main thread goes on. */
export const aliveMs = 1_000;

/** The variable by which a process learns its place. No setting: it is taken out of the environment before anybody reads that. */
export const placeVariable = 'GATEWAY_PROCESS';

/** A process's place among those of its host. */
export interface Place {
  /** From 1. */
  number: number;
  /** Where an earlier one listened. */
  ports?: Ports | undefined;
  /** The primary's process id. */
  primary: number;
  /** It is to listen by the port's number there, and not by the 0 of the configuration. */
  byPort: boolean;
  /** No other process of this host serves meanwhile. */
  alone: boolean;
}
