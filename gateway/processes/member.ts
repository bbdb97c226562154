import cluster from 'node:cluster';
import { EventEmitter } from 'node:events';
import type { Logger } from 'pino';
import { isInspected } from '../../pool/task-deadline.js';
import { endAsOrphan } from '../../pool/watchdog.js';
import type { Config } from '../config.js';
import type { SharedCounts } from '../limits/shared-counts.js';
import type { MetricFacts } from '../metrics/metrics.js';
import {
  aliveMs,
  type Place,
  type Ports,
  placeVariable,
  type Ready,
  type ToMember,
  type ToPrimary,
} from './messages.js';
import { createPrimaryCounts } from './primary-counts.js';

/** This process among those that `supervise` runs on a host. */
export interface Member {
  /** Only the first serves the site: what it remembers of tries to sign in is in its memory. */
  readonly servesSite: boolean;
  /** No other process serves while this one starts: it listens at once. */
  readonly servesAlone: boolean;
  /** Where the site is served by the first. */
  readonly siteUrl: string | undefined;
  /** What the primary passes on of `SIGTERM`, `SIGINT` and `SIGHUP`. */
  readonly signals: EventEmitter;
  /** With the ports at which an earlier process listened, where nobody holds them any more. */
  settle(config: Config): Config;
  /** Says that it serves. Throws where it serves somewhere else than the others. */
  ready(facts: Omit<Ready, 'kind'>): void;
  /** Rates and quotas that all count together; undefined where there is one process. */
  counts(processes: number, logger: Pick<Logger, 'info' | 'warn'>): SharedCounts | undefined;
  /** Tells the others that keys or tenants were changed here. */
  tellChange(): void;
  onChange(listener: () => void): void;
  /**
   * These facts, what the others answer to `onCollect`, and what was counted by those that do not answer in time or have ended; the
   * first is of one that lives.
   */
  gather(facts: MetricFacts): Promise<MetricFacts[]>;
  onCollect(facts: () => Promise<MetricFacts>): void;
}

/** Takes this process's place; undefined where it was started by itself. To be called once, before anybody reads the environment. */
export function joinProcesses(): Member | undefined {
  const text = process.env[placeVariable];
  delete process.env[placeVariable];
  return cluster.isWorker && text !== undefined ? createMember(JSON.parse(text)) : undefined;
}

function createMember({ number, ports, byPort, alone, primary }: Place): Member {
  const signals = new EventEmitter();
  const gathering = new Map<number, (facts: MetricFacts[]) => void>();
  const counts = createPrimaryCounts((message) => tellPrimary(message));
  let lastId = 0;
  let onChange = () => {};
  let collect: () => Promise<MetricFacts> = async () => [];

  // A terminal and a service manager send to all of a group, and the primary passes on what it gets.
  process.on('SIGINT', () => undefined);
  if (process.platform !== 'win32') process.on('SIGHUP', () => undefined);
  process.on('SIGTERM', (signal) => signals.emit(signal, signal) || process.exit(1));
  process.on('message', take);
  endAsOrphan(primary);
  setInterval(() => tellPrimary({ kind: 'alive', inspected: isInspected() }), aliveMs).unref();

  function take(message: ToMember): void {
    if (message.kind === 'signal') signals.emit(message.signal, message.signal);
    if (message.kind === 'told') counts.take(message.id, message.told);
    if (message.kind === 'changed') onChange();
    if (message.kind === 'collect') void answerCollect(message.id);
    if (message.kind === 'gathered') {
      gathering.get(message.id)?.(message.facts);
      gathering.delete(message.id);
    }
  }

  async function answerCollect(id: number): Promise<void> {
    tellPrimary({ kind: 'collected', id, facts: await collect() });
  }

  return {
    servesSite: number === 1,
    servesAlone: alone,
    siteUrl: ports?.site,
    signals,
    settle: (config) => ({
      ...config,
      port: byPort ? portOf(ports?.api, config.port) : config.port,
      connectPort: portOf(ports?.site, config.connectPort),
    }),
    ready(facts) {
      refuseOther(ports, facts.ports);
      tellPrimary({ kind: 'ready', ...facts });
    },
    counts: (processes, logger) => (processes > 1 ? counts.shared(1 / processes, logger) : undefined),
    tellChange: () => tellPrimary({ kind: 'changed' }),
    onChange(listener) {
      onChange = listener;
    },
    gather(facts) {
      const id = ++lastId;
      return new Promise((resolve) => {
        gathering.set(id, resolve);
        tellPrimary({ kind: 'gather', id, facts });
      });
    },
    onCollect(facts) {
      collect = facts;
    },
  };
}

/** A signal must not wait for a channel that has gone: its end ends this process. */
function tellPrimary(message: ToPrimary): void {
  if (process.connected) process.send?.(message, undefined, {}, () => undefined);
}

function portOf(url: string | undefined, otherwise: number): number {
  return url === undefined ? otherwise : Number(new URL(url).port) || otherwise;
}

/** Where the last of the others ended just now, a port that was left to the system is another one. */
function refuseOther(known: Ports | undefined, own: Ports): void {
  if (known?.api !== undefined && known.api !== own.api) {
    throw new Error(`The API of this host is at ${known.api}, and this process got ${own.api}.`);
  }
}
