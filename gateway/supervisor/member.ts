import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { endAsOrphan, isInspected } from '../../pool/task-limits.js';
import { type Inlet, type Inlets, receiveConnections } from '../http/connections.js';
import type { KeyStore } from '../keys/store.js';
import type { KeyVerifier } from '../keys/verifier.js';
import type { RateState, SharedCounts } from '../limits/counters.js';
import type { MetricFacts, Metrics } from '../observability/metrics.js';
import type { PluginProblem } from '../plugins/discover.js';
import {
  type Ask,
  aliveMs,
  type Door,
  type Place,
  placeVariable,
  type Ready,
  type Served,
  type Told,
  type ToMember,
  type ToPrimary,
} from './messages.js';

/** This process among those that `supervise` runs on a host. */
export interface Member {
  /** Only the first serves the site: what it remembers of tries to sign in is in its memory. */
  readonly servesSite: boolean;
  /** Where the site is served by the first. */
  readonly siteUrl: string | undefined;
  /** What the primary passes on of `SIGTERM` and `SIGINT`, and `leave` where another process has taken its place. */
  readonly signals: EventEmitter;
  /** How a server of this process gets the connections of a port. */
  door(name: Door): Inlets;
  /** When plugins may be read, where this process was started before it is needed. */
  readonly mayLoad: Promise<unknown> | undefined;
  /** What is served by those that this one is to replace; resolves no sooner than plugins may be read. */
  served(): Promise<Served | undefined>;
  /** Has this process replaced when something changes in these folders, from now on. */
  watch(folders: string[], pollMs: number | undefined): Promise<void>;
  /** Says why it does not take the place of those that serve. */
  fail(problems: PluginProblem[]): Promise<void>;
  /** Told why another process could not take this one's place. */
  onProblems(listener: (problems: readonly PluginProblem[]) => void): void;
  /** Says that it serves. */
  ready(facts: Omit<Ready, 'kind'>): void;
  /** Resolves when it serves, and none beside it that is older. */
  readonly begun: Promise<void>;
  /** Gives back all connections on which nothing is asked. */
  leave(): Promise<void>;
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
  /** Leaves what was counted here to those that come later. */
  leaveCounts(): Promise<void>;
}

/** Takes this process's place; undefined where it was started by itself. To be called once, before anybody reads the environment. */
export function joinProcesses(): Member | undefined {
  const text = process.env[placeVariable];
  delete process.env[placeVariable];
  return process.send && text !== undefined ? createMember(JSON.parse(text)) : undefined;
}

function createMember({ number, primary, siteUrl, waits, served }: Place): Member {
  const signals = new EventEmitter();
  const news = new EventEmitter();
  const inlets = new Map<Door, Inlet>();
  const gathering = new Map<number, (facts: MetricFacts[]) => void>();
  const counts = createPrimaryCounts((message) => tellPrimary(message));
  const load = waits
    ? once(news, 'load').then(([given]) => given as Served | undefined)
    : Promise.resolve(served);
  const begun = once(news, 'begin').then(() => undefined);
  let lastId = 0;
  let onChange = () => {};
  let collect: () => Promise<MetricFacts> = async () => [];

  // A terminal and a service manager send to all of a group, and the primary passes on what it gets.
  process.on('SIGINT', () => undefined);
  if (process.platform !== 'win32') process.on('SIGHUP', () => undefined);
  process.on('SIGTERM', (signal) => signals.emit(signal, signal) || process.exit(1));
  process.on('message', take);
  // Nobody else would end it.
  process.on('disconnect', () => process.exit());
  if (!process.connected) process.exit();
  endAsOrphan(primary);
  setInterval(() => tellPrimary({ kind: 'alive', inspected: isInspected() }), aliveMs).unref();

  function take(message: ToMember, handle?: unknown): void {
    if (message.kind === 'connection') accept(message, handle as Socket | undefined);
    if (message.kind === 'signal') signals.emit(message.signal, message.signal);
    if (message.kind === 'leave') signals.emit('leave', 'leave');
    if (message.kind === 'listening' || message.kind === 'refused') news.emit(message.door, message);
    if (message.kind === 'problems') news.emit('problems', message.problems);
    if (message.kind === 'load') news.emit('load', message.served);
    if (message.kind === 'watched' || message.kind === 'begin') news.emit(message.kind);
    if (message.kind === 'told') counts.take(message.id, message.told);
    if (message.kind === 'changed') onChange();
    if (message.kind === 'collect') void answerCollect(message.id);
    if (message.kind === 'gathered') {
      gathering.get(message.id)?.(message.facts);
      gathering.delete(message.id);
    }
  }

  function accept(
    { door, id, isUsed }: { door: Door; id: number; isUsed: boolean },
    socket: Socket | undefined,
  ): void {
    const inlet = inlets.get(door);
    // First: from then on it is this process's, which may end.
    tellPrimary({ kind: 'accepted', id, ok: inlet !== undefined && socket !== undefined });
    if (inlet && socket) inlet.receive(socket, isUsed);
    else socket?.destroy();
  }

  /** Resolves when the primary has it. */
  function giveBack(door: Door, socket: Socket): Promise<void> {
    return new Promise((resolve) => {
      process.send?.({ kind: 'returned', door } satisfies ToPrimary, socket, {}, () => {
        socket.destroy();
        resolve();
      });
    });
  }

  async function answerCollect(id: number): Promise<void> {
    tellPrimary({ kind: 'collected', id, facts: await collect() });
  }

  return {
    servesSite: number === 1,
    siteUrl,
    signals,
    door: (door) => ({
      async listen(server, { host, port }) {
        // Before the answer: connections come right behind it.
        inlets.set(door, receiveConnections(server));
        const answer = once(news, door);
        tellPrimary({ kind: 'listen', door, host, port });
        const [message] = (await answer) as [Extract<ToMember, { kind: 'listening' | 'refused' }>];
        if (message.kind === 'refused')
          throw Object.assign(new Error(message.error.message), { code: message.error.code });
        return message.url;
      },
      close() {
        if (inlets.delete(door)) tellPrimary({ kind: 'closed', door });
      },
    }),
    mayLoad: waits ? load : undefined,
    served: () => load,
    async watch(folders, pollMs) {
      const watched = once(news, 'watched');
      tellPrimary({ kind: 'watch', folders, pollMs });
      await watched;
    },
    ready: (facts) => tellPrimary({ kind: 'ready', ...facts }),
    fail: (problems) =>
      new Promise((resolve) => process.send?.({ kind: 'failed', problems }, undefined, {}, () => resolve())),
    onProblems: (listener) => void news.on('problems', listener),
    begun,
    async leave() {
      const given: Promise<void>[] = [];
      const idle: [Door, Socket][] = [];
      let give = (door: Door, socket: Socket) => void idle.push([door, socket]);
      await Promise.all([...inlets].map(([door, inlet]) => inlet.pauseIdle((socket) => give(door, socket))));
      // Nothing more is read of these here: the next process may answer.
      tellPrimary({ kind: 'left' });
      give = (door, socket) => void given.push(giveBack(door, socket));
      for (const [door, socket] of idle) give(door, socket);
      await Promise.all(given);
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
    leaveCounts: () => answerCollect(0),
    onCollect(facts) {
      collect = facts;
    },
  };
}

/** A signal must not wait for a channel that has gone: its end ends this process. */
function tellPrimary(message: ToPrimary): void {
  if (process.connected) process.send?.(message, undefined, {}, () => undefined);
}

/** The counts of the primary, as a process asks for them. */
export interface PrimaryCounts {
  /** Takes an answer. */
  take(id: number, told: readonly Told[]): void;
  /** For the limiter; `outageShare` holds while the primary does not answer. */
  shared(outageShare: number, logger: Pick<Logger, 'info' | 'warn'>): SharedCounts;
}

/** The primary does nothing but this: where it is late, the whole host is, and an exact count is worth a wait. */
const patienceMs = 2_000;
/** So long nobody asks a primary again that did not answer: a stopped one must cost no call its patience. */
const restMs = 500;

interface Asked {
  resolve: (told: Told | undefined) => void;
  ask: Ask;
}

/** Asks in one message what the calls of one turn of the event loop ask. */
export function createPrimaryCounts(send: (message: ToPrimary) => void): PrimaryCounts {
  const batches = new Map<number, { asked: Asked[]; timer: NodeJS.Timeout }>();
  let gathered: Asked[] = [];
  let lastId = 0;
  let restsUntil = Number.NEGATIVE_INFINITY;
  let isDown = false;
  let tell: Pick<Logger, 'info' | 'warn'> | undefined;

  function ask<T extends Told>(what: Ask): Promise<T> {
    return new Promise((resolve, reject) => {
      if (gathered.push({ ask: what, resolve: settle }) === 1) setImmediate(flush);
      function settle(told: Told | undefined): void {
        if (told === undefined) reject(new Error('the primary did not answer'));
        else resolve(told as T);
      }
    });
  }

  function flush(): void {
    const asked = gathered;
    gathered = [];
    lastId += 1;
    const id = lastId;
    // The answer may have come while this process was busy: it is read before what is set immediately runs.
    const timer = setTimeout(() => setImmediate(giveUp, id), patienceMs);
    batches.set(id, { asked, timer });
    send({ kind: 'ask', id, asks: asked.map((each) => each.ask) });
  }

  function giveUp(id: number): void {
    if (!batches.has(id)) return;
    restsUntil = performance.now() + restMs;
    if (!isDown)
      tell?.warn({}, 'the supervisor does not answer: this process limits by itself, at a reduced share');
    isDown = true;
    answer(id, []);
  }

  function answer(id: number, told: readonly Told[]): void {
    const batch = batches.get(id);
    if (!batch) return;
    batches.delete(id);
    clearTimeout(batch.timer);
    for (const [at, { resolve }] of batch.asked.entries()) resolve(told[at]);
  }

  return {
    take(id, told) {
      if (isDown) tell?.info({}, 'the supervisor answers: limits are shared again');
      isDown = false;
      answer(id, told);
    },
    shared(outageShare, logger) {
      tell = logger;
      return createShared(outageShare);
    },
  };

  function createShared(outageShare: number): SharedCounts {
    return {
      async run(operation) {
        if (performance.now() < restsUntil) return undefined;
        return operation().catch(() => undefined);
      },
      rate: {
        take: (tenant, rate, burst) => ask<RateState>({ kind: 'rate', tenant, rate, burst }),
      },
      quota: {
        reserve: (name, limit, floor) => ask({ kind: 'reserve', name, limit, floor }),
        release: (name, floor) => ask<null>({ kind: 'release', name, floor }).then(() => undefined),
      },
      outageShare,
      close: () => undefined,
    };
  }
}

/** Tells the others at once what is changed here, and looks when one of them says so. Gives how to end it. */
export function shareChanges(
  store: Pick<KeyStore, 'onChange'>,
  keys: Pick<KeyVerifier, 'refresh'>,
  member: Pick<Member, 'tellChange' | 'onChange'> | undefined,
): () => void {
  if (!member) return () => undefined;
  // Twice, as a look that is under way may have begun before the change.
  member.onChange(() => void keys.refresh().then(() => keys.refresh()));
  return store.onChange(() => member.tellChange());
}

/**
 * Metrics whose text is that of all processes together. It is made of what the primary knows of this one too: what one has told and
 * then ends must not be missing from what the next tells.
 */
export function shareMetrics(
  own: Metrics,
  member: Pick<Member, 'gather' | 'onCollect'> | undefined,
): Metrics {
  if (!member) return own;
  member.onCollect(own.facts);
  return { ...own, text: async () => own.text(await member.gather(await own.facts())) };
}
