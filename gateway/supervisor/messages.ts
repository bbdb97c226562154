import type { ChildProcess } from 'node:child_process';
import type { RateState } from '../limits/counters.js';
import type { MetricFacts } from '../observability/metrics.js';
import type { PluginProblem } from '../plugins/discover.js';

/** What a process asks of the counts that the supervisor keeps for all. */
export type CountRequest =
  | { kind: 'rate'; tenant: string; rate: number; burst: number }
  | { kind: 'reserve'; name: string; limit: number; floor: number; amount: number }
  | { kind: 'release'; name: string; floor: number };

export type CountAnswer = RateState | { granted: boolean; used: number } | null;

/** What a process reports once it serves. */
export interface Ready {
  kind: 'ready';
  /** Written to standard output once all are ready; of the first process alone. */
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
  /** What it has left out of the plugins' folders, as `file: reason`; only an author's gateway starts so. */
  problems: string[];
}

/** What the processes serve that a new one is to replace. */
export type Served = Pick<Ready, 'helpers' | 'problems'>;

/** A port that the supervisor listens on for all processes. */
export type PortName = 'api' | 'site' | 'work';

export interface Place {
  host: string;
  port: number;
}

/** From a process to the supervisor. */
export type FromProcess =
  | Ready
  /** Its main thread responds; `inspected` where a debugger may hold it. */
  | { kind: 'alive'; inspected: boolean }
  /** Accepts connections of this port, which is opened where it is not open yet. */
  | { kind: 'listen'; port: PortName; place: Place }
  /** Accepts no more of them. */
  | { kind: 'closed'; port: PortName }
  /** Owns this connection from now on; or declines it. */
  | { kind: 'accepted'; id: number; ok: boolean }
  /** Answers no more calls than those that it has begun to read. */
  | { kind: 'left' }
  /** With an idle connection. */
  | { kind: 'returned'; port: PortName }
  /** Asks to be replaced when something changes in these folders. */
  | { kind: 'watch'; folders: string[]; pollMs: number | undefined }
  /** It cannot replace those that serve. */
  | { kind: 'failed'; problems: PluginProblem[] }
  | { kind: 'count'; id: number; requests: CountRequest[] }
  /** Keys or tenants were changed. */
  | { kind: 'changed' }
  /** Asks for the metrics of all, and brings its own. */
  | { kind: 'gather'; id: number; facts: MetricFacts }
  | { kind: 'collected'; id: number; facts: MetricFacts };

/** From the supervisor to a process. */
export type ToProcess =
  | { kind: 'signal'; signal: NodeJS.Signals }
  | { kind: 'listening'; port: PortName; url: string }
  | { kind: 'refused'; port: PortName; error: { code?: string | undefined; message: string } }
  /** With the connection. */
  | { kind: 'connection'; port: PortName; id: number; isUsed: boolean }
  /** A standby may read plugins now. */
  | { kind: 'load'; served: Served | undefined }
  | { kind: 'watched' }
  /** It is the one that serves from now on. */
  | { kind: 'begin' }
  /** Another one has replaced it. */
  | { kind: 'leave' }
  /** Why another process could not replace it. */
  | { kind: 'problems'; problems: PluginProblem[] }
  | { kind: 'counted'; id: number; answers: CountAnswer[] }
  | { kind: 'changed' }
  | { kind: 'collect'; id: number }
  | { kind: 'gathered'; id: number; facts: MetricFacts[] };

/** What is done with each kind of message, and with the connection that it brings. */
export type Handlers<Message extends { kind: string }, Context extends unknown[] = []> = {
  [Kind in Message['kind']]: (
    message: Extract<Message, { kind: Kind }>,
    ...context: [...Context, handle?: unknown]
  ) => unknown;
};

/** How often a process reports that its main thread responds. */
export const aliveMs = 1_000;

/** The variable with a process's `ProcessStart`. No setting: it is removed from the environment before configuration is read. */
export const processVariable = 'GATEWAY_PROCESS';

/** What the supervisor gives a process at its start. */
export interface ProcessStart {
  /** From 1. */
  number: number;
  supervisorPid: number;
  /** Where the site is, if that is known. */
  siteUrl?: string | undefined;
  /** Started before it is needed: it reads no plugin before `load`. */
  isStandby: boolean;
  /** What the processes serve that it is to replace. */
  served?: Served | undefined;
}

/** A process as the supervisor sees it. */
export class Slot {
  readonly number: number;
  readonly child: ChildProcess;
  readonly generation: Generation;
  readonly waitAfter: (livedMs: number) => number;
  readonly startedAt = performance.now();
  /** Ports whose connections it accepts. */
  readonly ports = new Set<PortName>();
  hasLeft = (): void => undefined;
  /** Resolves when it answers no more calls than those that it has begun to read, or has ended. */
  readonly left = new Promise<void>((resolve) => {
    this.hasLeft = resolve;
  });
  /** What it has reported, once it serves. */
  ready: Ready | undefined;
  /** Since when it is to end, where it is. */
  leavingSince: number | undefined;
  /** How long it has not responded, counted by this process's timer: while this one is stopped too, none counts. */
  silentFor = 0;
  inspected = false;
  /** It cannot start with the files as they are. */
  hasFailed = false;

  constructor({
    number,
    child,
    generation,
    waitAfter,
  }: Pick<Slot, 'number' | 'child' | 'generation' | 'waitAfter'>) {
    this.number = number;
    this.child = child;
    this.generation = generation;
    this.waitAfter = waitAfter;
  }
}

/** The processes of one version of the files, by their numbers. */
export type Generation = Map<number, Slot>;

export interface ExitStatus {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A message to a process that has just ended is dropped. */
export function sendTo(child: ChildProcess, message: ToProcess): void {
  if (child.connected) child.send(message, () => undefined);
}

export function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined;
}
