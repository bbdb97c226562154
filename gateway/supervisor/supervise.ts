import { type ChildProcess, fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import type { Logger } from 'pino';
import { once } from '../../pool/concurrency.js';
import {
  aliveMs,
  type ExitStatus,
  type FromProcess,
  type Generation,
  type Handlers,
  type ProcessStart,
  processVariable,
  type Ready,
  Slot,
  sendTo,
} from './messages.js';
import { createPorts } from './ports.js';
import { type Changed, createReplacement, servedBy } from './replacement.js';
import { createSharedMetrics } from './shared-metrics.js';

interface SuperviseOptions {
  /** Opens the log, the first time that there is something to write. */
  openLog(how: Pick<Ready, 'logLevel' | 'json'>): Promise<Pick<Logger, 'error' | 'info'>>;
  /** An author writes helpers: the next process is kept ready, and results of reloads go to the terminal. */
  dev?: boolean;
}

/** npm passes on a Ctrl-C that the terminal has sent too: that is one signal, not two. */
const echoMs = 500;

/**
 * Runs this very command in processes of their own, and starts another one where one ends unasked, as by a crash in native code. The
 * first starts alone, as it may have to create the database; its greeting is written once all serve. A process that cannot start the
 * first time ends all of them. It loads next to nothing, so that nothing here can fail.
 */
export function supervise({ openLog, dev = false }: SuperviseOptions): void {
  /** All processes that live. */
  const slots = new Set<Slot>();
  const restarts = new Set<NodeJS.Timeout>();
  /** Those that serve, or are to. */
  let current: Generation = new Map();
  let watcher: { close(): void } | undefined;
  /** While one generation takes over from another, connections wait. */
  let isHeld = false;
  /** The first start has failed, and is tried again when a file changes. */
  let isWaitingForChange = false;
  let first: Ready | undefined;
  let siteUrl: string | undefined;
  let phase: 'starting' | 'serving' | 'stopping' = 'starting';
  let stoppingSince = 0;
  let exitCode = 0;
  let inspectors = 0;
  let endAs = () => process.exit(exitCode);
  let logged = Promise.resolve();

  const logOf = once(() => openLog(first as Ready));
  // Most hosts have one process, which needs none.
  const counts = once(async () => (await import('./shared-counts.js')).createCounts());
  const metrics = createSharedMetrics(othersThan);
  const ports = createPorts((port) => {
    if (isHeld) return [];
    const able = [...current.values()].filter((slot) => slot.ports.has(port));
    // Where none is ready, the calls wait in the one that starts.
    const ready = able.filter((slot) => slot.ready);
    return (ready.length > 0 ? ready : able).map(({ child }) => child);
  });
  const replacement = createReplacement({
    dev,
    isServing: () => phase === 'serving',
    current: () => current,
    start,
    hold(generation) {
      cancelRestarts();
      isHeld = true;
      current = generation;
    },
    begin() {
      isHeld = false;
      for (const { child } of current.values()) sendTo(child, { kind: 'begin' });
      ports.flush();
    },
    log,
  });

  function othersThan(child: ChildProcess): ChildProcess[] {
    return [...slots].filter((slot) => slot.ready && slot.child !== child).map((slot) => slot.child);
  }

  function start(number: number, generation: Generation, isStandby = false): Slot | undefined {
    const given: ProcessStart = {
      number,
      supervisorPid: process.pid,
      siteUrl,
      isStandby,
      served: dev && generation !== current ? servedBy(current) : undefined,
    };
    const child = fork(process.argv[1] as string, process.argv.slice(2), {
      env: { ...process.env, [processVariable]: JSON.stringify(given) },
      execArgv: execArgv(),
    });
    const waitAfter = current.get(number)?.waitAfter ?? createBackOff();
    const slot = new Slot({ number, child, generation, waitAfter });
    generation.set(number, slot);
    // Where the system has no room for a process, or no file for its channel. Any other error is followed by its exit.
    child.on('error', (error) => {
      if (child.pid === undefined) notStarted(slot, error);
    });
    if (child.pid === undefined) return undefined;
    slots.add(slot);
    child.on('message', (message: FromProcess, handle: unknown) => {
      slot.silentFor = 0;
      // Not all messages are ours: libraries, plugins and Node's --watch send some.
      handlers[message?.kind]?.(message as never, slot, handle);
    });
    child.on('exit', (code, signal) => ended(slot, { code, signal }));
    return slot;
  }

  /** Each process that is debugged has a port of its own. */
  function execArgv(): string[] {
    if (!process.execArgv.some((each) => each.startsWith('--inspect'))) return process.execArgv;
    inspectors += 1;
    return [...process.execArgv, `--inspect-port=${process.debugPort + inspectors}`];
  }

  const handlers: Handlers<FromProcess, [slot: Slot]> = {
    ready: (message, slot) => becomeReady(slot, message),
    alive({ inspected }, slot) {
      slot.inspected = inspected;
    },
    async listen({ port, place }, { child, ports: accepts }) {
      const url = await ports.open(child, port, place);
      if (port === 'site') siteUrl = url ?? siteUrl;
      if (url !== undefined && child.connected) accepts.add(port);
      ports.flush();
    },
    closed({ port }, slot) {
      slot.ports.delete(port);
      if (phase === 'stopping' && ![...slots].some((each) => each.ports.has(port))) ports.close(port);
    },
    accepted: ({ id, ok }) => ports.accepted(id, ok),
    returned({ port }, _slot, socket) {
      if (socket) ports.returned(port, socket as Socket);
    },
    left: (_message, slot) => slot.hasLeft(),
    async watch({ folders, pollMs }, { child }) {
      if (!watcher) {
        const { watchFiles } = await import('./watch-files.js');
        watcher = await watchFiles(folders, { pollMs, onChange: reload });
      }
      sendTo(child, { kind: 'watched' });
    },
    failed({ problems }, slot) {
      slot.hasFailed = true;
      for (const { child } of current.values()) sendTo(child, { kind: 'problems', problems });
    },
    async count({ id, requests }, { child }) {
      try {
        sendTo(child, { kind: 'counted', id, answers: await (await counts()).answer(requests) });
      } catch {
        // A process without an answer limits by itself.
      }
    },
    changed(_message, { child }) {
      for (const other of othersThan(child)) sendTo(other, { kind: 'changed' });
    },
    gather: ({ id, facts }, { child }) => metrics.gather(child, id, facts),
    collected: ({ id, facts }, { child }) => metrics.collected(child, id, facts),
  };

  function becomeReady(slot: Slot, ready: Ready): void {
    slot.ready = ready;
    if (replacement.ready(slot, ready)) return;
    sendTo(slot.child, { kind: 'begin' });
    ports.flush();
    if (phase !== 'starting') return;
    if (!first) {
      first = ready;
      for (let number = 2; number <= ready.processes; number += 1) start(number, current);
    }
    if ([...current.values()].some((each) => !each.ready)) return;
    phase = 'serving';
    // First, because a reader of the greeting may send a signal at once.
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
    setInterval(killSilent, aliveMs);
    process.stdout.write(first.text);
    replacement.resume();
  }

  function ended(slot: Slot, exit: ExitStatus): void {
    slots.delete(slot);
    slot.ports.clear();
    // By then its last messages have been read. Node reports no disconnection while a connection is being sent.
    setImmediate(() => setImmediate(ports.lost, slot.child));
    metrics.ended(slot.child);
    slot.hasLeft();
    if (phase === 'stopping') {
      if (slot.ready && exit.code !== 0) exitCode = 1;
      endIfEmpty();
    } else if (replacement.ended(slot, exit) || current.get(slot.number) !== slot) return;
    else if (phase === 'starting' && slot.hasFailed) waitForChange();
    else if (phase === 'starting') failedToStart(exit);
    else {
      const livedMs = performance.now() - slot.startedAt;
      const what = { ended_pid: slot.child.pid, ...exit };
      restart(slot, what, 'a process ended unasked; another one is started', livedMs);
    }
  }

  /** Logs that a slot has no process, and starts another one: at once, or later where one after another ends. */
  function restart(slot: Slot, what: object, message: string, livedMs: number): void {
    const wait = slot.waitAfter(livedMs);
    void log('error', { process: slot.number, ...what, restart_ms: wait }, message);
    const timer = setTimeout(() => {
      restarts.delete(timer);
      try {
        start(slot.number, current);
      } catch (error) {
        notStarted(slot, error);
      }
    }, wait);
    restarts.add(timer);
  }

  function cancelRestarts(): void {
    for (const timer of restarts) clearTimeout(timer);
    restarts.clear();
  }

  /** The system could not make a process; those that serve go on. */
  function notStarted(slot: Slot, error: unknown): void {
    const { message } = error as Error;
    if (phase === 'starting') {
      process.stderr.write(`helper-gateway: no process could be started: ${message}\n`);
      killAll();
      process.exit(1);
    }
    if (phase === 'stopping') {
      endIfEmpty();
      return;
    }
    if (slot.generation !== current) {
      replacement.ended(slot, { code: null, signal: null });
      return;
    }
    restart(slot, { reason: message }, 'no process could be started; it is tried again', 0);
  }

  /** In `dev`, where a faulty helper keeps the first start from succeeding. */
  function waitForChange(): void {
    isWaitingForChange = true;
    process.stderr.write('helper-gateway: it starts again when a file is saved\n');
    if (replacement.withdraw()) reload('all');
  }

  /** The process has written its reason itself, unless it was killed. */
  function failedToStart({ code, signal }: ExitStatus): void {
    if (signal) process.stderr.write(`helper-gateway: it was ended by ${signal} while it started\n`);
    killAll();
    process.exit(code ?? 1);
  }

  /** Replaces the processes that serve by processes with the files as they are. */
  function reload(changed: Changed): void {
    if (phase === 'stopping') return;
    if (isWaitingForChange) {
      isWaitingForChange = false;
      start(1, current);
    } else replacement.request(changed);
  }

  /** Never rejects: a host without memory or files to open the log must not lose what still serves. */
  function log(level: 'info' | 'error', what: object, message: string): Promise<void> {
    logged = logged.then(async () => {
      try {
        (await logOf())[level](what, message);
      } catch {
        process.stderr.write(`helper-gateway: ${message}: ${JSON.stringify(what)}\n`);
      }
    });
    return logged;
  }

  /** A process in a loop receives no signal, and one that waits for what never comes does not end by itself. */
  function killSilent(): void {
    for (const slot of slots) {
      const { number, child, leavingSince, ready } = slot;
      slot.silentFor += aliveMs;
      if (!ready || slot.inspected) continue;
      const endsSince = phase === 'stopping' ? stoppingSince : leavingSince;
      const endsFor = endsSince === undefined ? 0 : performance.now() - endsSince;
      const silentMs =
        endsSince === undefined ? ready.silentMs : Math.min(ready.silentAtEndMs, ready.silentMs);
      const isSilent = slot.silentFor > silentMs;
      if (!isSilent && endsFor <= ready.stopMs) continue;
      const why = isSilent
        ? `its main thread has not responded for ${silentMs} ms`
        : `it has not ended within ${ready.stopMs} ms`;
      void log('error', { process: number, killed_pid: child.pid }, `a process is killed: ${why}`);
      child.kill('SIGKILL');
    }
  }

  function killAll(): void {
    for (const { child } of slots) child.kill('SIGKILL');
  }

  function stop(signal: NodeJS.Signals): void {
    if (phase === 'stopping') {
      if (performance.now() - stoppingSince <= echoMs) return;
      killAll();
      process.exit(1);
    }
    phase = 'stopping';
    stoppingSince = performance.now();
    watcher?.close();
    replacement.close();
    cancelRestarts();
    for (const { ready, child, leavingSince, generation } of slots) {
      // One that does not serve yet has nothing to finish.
      if (!ready || (generation !== current && leavingSince === undefined)) child.kill('SIGKILL');
      else if (leavingSince === undefined) sendTo(child, { kind: 'signal', signal });
    }
    endIfEmpty();
  }

  /** Loading the log may take longer than the end of the process that it is about. */
  function endIfEmpty(): void {
    if (slots.size === 0) void logged.then(() => endAs());
  }

  /** SIGHUP reloads; from a terminal that was closed it ends the gateway. */
  function onHangups(): void {
    if (process.platform === 'win32') return;
    const terminal = [0, 1, 2].find((fd) => isatty(fd));
    const onHangup = () => {
      const isClosed = terminal !== undefined && !isatty(terminal);
      if (!isClosed) {
        reload('all');
        return;
      }
      // By the signal itself: Node would abort when it resets a terminal that is closed.
      endAs = () => {
        process.off('SIGHUP', onHangup);
        process.kill(process.pid, 'SIGHUP');
        return undefined as never;
      };
      if (phase === 'serving') stop('SIGINT');
      else if (phase === 'starting') {
        killAll();
        endAs();
      }
    };
    process.on('SIGHUP', onHangup);
  }

  /** A signal during the first start ends all at once: a process in a loop there would not receive it. */
  function endEarly(): void {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (phase !== 'starting') return;
        killAll();
        process.exit(128 + constants.signals[signal]);
      });
    }
  }

  onHangups();
  endEarly();
  start(1, current);
}

/** A process that has lived so long did not end of its start: the next one is started at once again. */
const soundMs = 60_000;
const firstMs = 1_000;
const mostMs = 30_000;

/** The wait before a process is started again: 0, 1, 2, 4 … 30 seconds, to leave the CPU to those that work. */
export function createBackOff(): (livedMs: number) => number {
  let next = 0;
  return function waitAfter(livedMs) {
    if (livedMs >= soundMs) next = 0;
    const wait = next;
    next = Math.min(mostMs, next === 0 ? firstMs : 2 * next);
    return wait;
  };
}
