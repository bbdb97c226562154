import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { endAsOrphan, isInspected } from '../../pool/task-limits.js';
import { type Inlet, type Inlets, receiveConnections } from '../http/connections.js';
import type { KeyStore } from '../keys/store.js';
import type { KeyVerifier } from '../keys/verifier.js';
import type { SharedCounts } from '../limits/counters.js';
import type { MetricFacts, Metrics } from '../observability/metrics.js';
import type { PluginProblem } from '../plugins/discover.js';
import {
  aliveMs,
  type FromProcess,
  type Handlers,
  type PortName,
  type ProcessStart,
  processVariable,
  type Ready,
  type Served,
  type ToProcess,
} from './messages.js';
import { createCountsClient } from './shared-counts.js';

/** The supervisor, as a process that serves sees it. */
export type SupervisorChannel = ReturnType<typeof createChannel>;

/** Connects to the supervisor, once, before the environment is read; undefined in a process that was started by itself. */
export function connectSupervisor(): SupervisorChannel | undefined {
  const text = process.env[processVariable];
  delete process.env[processVariable];
  return process.send && text !== undefined ? createChannel(JSON.parse(text)) : undefined;
}

function createChannel({ number, supervisorPid, siteUrl, isStandby, served }: ProcessStart) {
  const signals = new EventEmitter();
  /** The supervisor's answers, by kind, or by port. */
  const answers = new EventEmitter();
  const inlets = new Map<PortName, Inlet>();
  let counts: ReturnType<typeof createCountsClient> | undefined;
  const loaded = isStandby
    ? once(answers, 'load').then(([given]) => given as Served | undefined)
    : Promise.resolve(served);
  const begun = once(answers, 'begin').then(() => undefined);
  let lastId = 0;
  let onChange = () => {};
  let collect: () => Promise<MetricFacts> = async () => [];

  // Terminals and service managers signal the whole group, and the supervisor passes on what it gets.
  process.on('SIGINT', () => undefined);
  if (process.platform !== 'win32') process.on('SIGHUP', () => undefined);
  process.on('SIGTERM', (signal) => signals.emit(signal, signal) || process.exit(1));
  process.on('message', (message: ToProcess, handle) => handlers[message?.kind]?.(message as never, handle));
  // Without its supervisor nothing else would end it.
  process.on('disconnect', () => process.exit());
  if (!process.connected) process.exit();
  endAsOrphan(supervisorPid);
  setInterval(() => send({ kind: 'alive', inspected: isInspected() }), aliveMs).unref();

  const handlers: Handlers<ToProcess> = {
    connection: (message, handle) => accept(message, handle as Socket | undefined),
    signal: ({ signal }) => signals.emit(signal, signal),
    leave: () => signals.emit('leave', 'leave'),
    listening: (message) => answers.emit(message.port, message),
    refused: (message) => answers.emit(message.port, message),
    load: ({ served }) => answers.emit('load', served),
    problems: ({ problems }) => answers.emit('problems', problems),
    watched: () => answers.emit('watched'),
    begin: () => answers.emit('begin'),
    counted: ({ id, answers }) => counts?.receive(id, answers),
    changed: () => onChange(),
    collect: ({ id }) => sendMetrics(id),
    gathered: ({ id, facts }) => answers.emit(`gathered ${id}`, facts),
  };

  function accept(
    { port, id, isUsed }: { port: PortName; id: number; isUsed: boolean },
    socket: Socket | undefined,
  ): void {
    const inlet = inlets.get(port);
    // First: from then on the supervisor no longer holds it.
    send({ kind: 'accepted', id, ok: inlet !== undefined && socket !== undefined });
    if (inlet && socket) inlet.receive(socket, isUsed);
    else socket?.destroy();
  }

  /** Resolves when the supervisor has it. */
  function returnConnection(port: PortName, socket: Socket): Promise<void> {
    return new Promise((resolve) => {
      process.send?.({ kind: 'returned', port } satisfies FromProcess, socket, {}, () => {
        socket.destroy();
        resolve();
      });
    });
  }

  async function sendMetrics(id: number): Promise<void> {
    send({ kind: 'collected', id, facts: await collect() });
  }

  /** The metrics of all processes that live, these first, and the counts of those that have ended or do not answer in time. */
  async function gatherMetrics(facts: MetricFacts): Promise<MetricFacts[]> {
    const id = ++lastId;
    const gathered = once(answers, `gathered ${id}`);
    send({ kind: 'gather', id, facts });
    const [all] = await gathered;
    return all;
  }

  return {
    /** Only the first process serves the site, whose record of failed sign-ins is in its memory. */
    servesSite: number === 1,
    /** Where the first process serves the site. */
    siteUrl,
    /** Emits `SIGTERM` and `SIGINT` as the supervisor passes them on, and `leave` where another process has replaced this one. */
    signals,
    /** How a server of this process gets the connections of a port. */
    inlets: (port: PortName): Inlets => ({
      async listen(server, place) {
        // Before the answer: connections follow it at once.
        inlets.set(port, receiveConnections(server));
        const answer = once(answers, port);
        send({ kind: 'listen', port, place });
        const [message] = (await answer) as [Extract<ToProcess, { kind: 'listening' | 'refused' }>];
        if (message.kind === 'refused')
          throw Object.assign(new Error(message.error.message), { code: message.error.code });
        return message.url;
      },
      close() {
        if (inlets.delete(port)) send({ kind: 'closed', port });
      },
    }),
    /** When a standby may read plugins; undefined in a process that was started to serve at once. */
    mayLoad: isStandby ? loaded : undefined,
    /** What the processes serve that this one is to replace; resolves no sooner than plugins may be read. */
    served: () => loaded,
    /** Has this process replaced when something changes in these folders, from now on. */
    async watch(folders: string[], pollMs: number | undefined): Promise<void> {
      const watched = once(answers, 'watched');
      send({ kind: 'watch', folders, pollMs });
      await watched;
    },
    reportReady: (facts: Omit<Ready, 'kind'>) => send({ kind: 'ready', ...facts }),
    /** Reports why it cannot replace those that serve. */
    reportFailure: (problems: PluginProblem[]) =>
      new Promise<void>((resolve) =>
        process.send?.({ kind: 'failed', problems }, undefined, {}, () => resolve()),
      ),
    /** Called with the reasons why another process could not replace this one. */
    onProblems: (listener: (problems: readonly PluginProblem[]) => void) =>
      void answers.on('problems', listener),
    /** Resolves when this process serves and no older one does. */
    begun,
    /** Returns all idle connections. */
    async returnConnections(): Promise<void> {
      const idle: [PortName, Socket][] = [];
      const returned: Promise<void>[] = [];
      let give = (port: PortName, socket: Socket) => void idle.push([port, socket]);
      await Promise.all([...inlets].map(([port, inlet]) => inlet.pauseIdle((socket) => give(port, socket))));
      // Nothing more is read of these here, so the next process may answer.
      send({ kind: 'left' });
      give = (port, socket) => void returned.push(returnConnection(port, socket));
      for (const [port, socket] of idle) give(port, socket);
      await Promise.all(returned);
    },
    /** Rates and quotas of all processes together; undefined where there is one process. */
    counts(processes: number, logger: Pick<Logger, 'info' | 'warn'>): SharedCounts | undefined {
      if (processes < 2) return undefined;
      counts = createCountsClient(send, 1 / processes, logger);
      return counts.shared;
    },
    /** Passes changes of keys to the other processes, and reads theirs. Returns how to end it. */
    shareChanges(store: Pick<KeyStore, 'onChange'>, keys: Pick<KeyVerifier, 'refresh'>): () => void {
      // Twice, as a reading that is under way may have begun before the change.
      onChange = () => void keys.refresh().then(() => keys.refresh());
      return store.onChange(() => send({ kind: 'changed' }));
    },
    /** Metrics whose text is that of all processes together. The supervisor adds the last counts of those that have ended. */
    shareMetrics(own: Metrics): Metrics {
      collect = own.facts;
      return { ...own, text: async () => own.text(await gatherMetrics(await own.facts())) };
    },
    /** Sends this process's counts, to be kept after its end. */
    sendLastMetrics: () => sendMetrics(0),
  };
}

/** Without a channel the message is dropped: its end ends this process. */
function send(message: FromProcess): void {
  if (process.connected) process.send?.(message, undefined, {}, () => undefined);
}
