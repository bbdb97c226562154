import { type ChildProcess, fork } from 'node:child_process';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import type { Logger } from 'pino';
import { once } from '../../pool/concurrency.js';
import { createDoors, openFor } from './doors.js';
import { createExchange, hasEnded, tellMember } from './exchange.js';
import {
  aliveMs,
  type Door,
  type Place,
  placeVariable,
  type Ready,
  type Served,
  type ToPrimary,
} from './messages.js';
import { changesOf, describeChanges } from './replaced.js';

interface SuperviseOptions {
  /** Opens the log, the first time that there is something to tell. */
  openLog(how: Pick<Ready, 'logLevel' | 'json'>): Promise<Pick<Logger, 'error' | 'info'>>;
  /** Somebody writes helpers: the next process is kept ready, and what comes of it is told on the terminal. */
  dev?: boolean;
}

/** npm passes on a Ctrl-C that the terminal has sent too: that is one signal and not two. */
const echoMs = 500;
/** A process that is replaced hands over in this time, or the next one begins beside it. */
const handOverMs = 2_000;
/** A start that has taken so long gives way to a newer change: it may wait for an import that never ends, and is mended by now. */
const patienceMs = 1_000;

interface Slot {
  number: number;
  child: ChildProcess;
  startedAt: number;
  generation: Generation;
  /** Ports whose connections it takes. */
  doors: Set<Door>;
  /** What it said once it served. */
  ready: Ready | undefined;
  /** Since when it is to end, where it is. */
  leavingSince: number | undefined;
  /** How long it has not said that its main thread goes on, in looks of this process: while this one is stopped too, none counts. */
  silentFor: number;
  inspected: boolean;
  /** It cannot start with the files as they are. */
  canBeMended: boolean;
  waitAfter: (livedMs: number) => number;
}

/** The processes of one version of the files. */
type Generation = Map<number, Slot>;

/** A replacement under way. */
interface Attempt {
  generation: Generation;
  changed: ReadonlySet<string> | undefined;
  since: number;
  /** It is given up for a newer one. */
  givesWay?: boolean;
}

/**
 * Runs this very command in processes of their own, and starts another one where one ends that was not told to: what crashes in
 * native code takes its process along, and no thread can be kept from that. The first starts alone, as it may have to make the
 * database; what it has to say is written once, when all serve. A process that cannot start the first time ends all of them.
 *
 * Its processes are replaced by new ones to load plugins anew: these take over when all of them are ready, in one step. It holds the
 * ports all the while.
 *
 * It loads next to nothing, so that it costs little and has nothing that could fail. Should it be killed, each process ends by
 * itself at once: its channel is closed then.
 */
export function supervise({ openLog, dev = false }: SuperviseOptions): void {
  /** All processes that live. */
  const slots = new Set<Slot>();
  const waiting = new Set<NodeJS.Timeout>();
  /** Those that serve, or are to. */
  let current: Generation = new Map();
  let attempt: Attempt | undefined;
  let standby: Slot | undefined;
  /** Files that have changed, or everything, since the last replacement was begun. */
  let wish: ReadonlySet<string> | 'all' | undefined;
  /** What a replacement that failed was to bring. */
  let missed: ReadonlySet<string> | 'all' | undefined;
  let giveWay: NodeJS.Timeout | undefined;
  let watcher: { close(): void } | undefined;
  /** While one generation takes over from another, connections wait. */
  let isHeld = false;
  /** The first start has failed, and is tried again when a file changes. */
  let isWaiting = false;
  let first: Ready | undefined;
  let phase: 'starting' | 'serving' | 'stopping' = 'starting';
  let stoppingSince = 0;
  let exitCode = 0;
  let inspectors = 0;
  let endAs = () => process.exit(exitCode);

  const logOf = once(() => openLog(first as Ready));
  const exchange = createExchange((than) =>
    [...slots].filter(({ child, ready }) => ready && child !== than).map(({ child }) => child),
  );
  const doors = createDoors((door) => {
    if (isHeld) return [];
    const able = [...current.values()].filter((slot) => slot.doors.has(door));
    // Where none is ready, the one that starts has its calls wait.
    const ready = able.filter((slot) => slot.ready);
    return (ready.length > 0 ? ready : able).map(({ child }) => child);
  });

  function start(number: number, generation: Generation, waits = false): Slot | undefined {
    const served = dev && generation !== current ? servedNow() : undefined;
    const place: Place = { number, primary: process.pid, siteUrl: doors.url('site'), waits, served };
    const child = fork(process.argv[1] as string, process.argv.slice(2), {
      env: { ...process.env, [placeVariable]: JSON.stringify(place) },
      execArgv: execArgv(),
    });
    const slot: Slot = {
      number,
      child,
      startedAt: performance.now(),
      generation,
      doors: new Set(),
      ready: undefined,
      leavingSince: undefined,
      silentFor: 0,
      inspected: false,
      canBeMended: false,
      waitAfter: current.get(number)?.waitAfter ?? createBackOff(),
    };
    generation.set(number, slot);
    // Where the system has no room for a process, or no file for its channel. What else fails of one is followed by its end.
    child.on('error', (error) => {
      if (child.pid === undefined) notBegun(slot, error);
    });
    if (child.pid === undefined) return undefined;
    slots.add(slot);
    child.on('message', (message: ToPrimary, handle: unknown) => {
      slot.silentFor = 0;
      take(slot, message, handle);
    });
    child.on('exit', (code, signal) => ended(slot, code, signal));
    return slot;
  }

  /** Each process that is debugged has a port of its own. */
  function execArgv(): string[] {
    if (!process.execArgv.some((each) => each.startsWith('--inspect'))) return process.execArgv;
    inspectors += 1;
    return [...process.execArgv, `--inspect-port=${process.debugPort + inspectors}`];
  }

  function take(slot: Slot, message: ToPrimary, handle: unknown): void {
    const { child } = slot;
    if (message.kind === 'ready') becomeReady(slot, message);
    else if (message.kind === 'alive') slot.inspected = message.inspected;
    else if (message.kind === 'accepted') doors.accepted(message.id, message.ok);
    else if (message.kind === 'returned') {
      if (handle) doors.takeBack(message.door, handle as Parameters<typeof doors.takeBack>[1]);
    } else if (message.kind === 'left') left(slot);
    else if (message.kind === 'listen') {
      void openFor(child, doors, message).then((isOpen) => {
        if (isOpen && child.connected) slot.doors.add(message.door);
        doors.flush();
      });
    } else if (message.kind === 'closed') {
      slot.doors.delete(message.door);
      const isServed = [...slots].some((each) => each.doors.has(message.door));
      if (phase === 'stopping' && !isServed) doors.close(message.door);
    } else if (message.kind === 'failed') {
      slot.canBeMended = phase === 'starting';
      for (const each of current.values()) tellMember(each.child, { ...message, kind: 'problems' });
    } else if (message.kind === 'watch') void watch(child, message.folders, message.pollMs);
    else exchange.take(child, message);
  }

  function becomeReady(slot: Slot, ready: Ready): void {
    slot.ready = ready;
    const { generation, child } = slot;
    if (attempt?.generation === generation) {
      for (let number = generation.size + 1; number <= ready.processes; number += 1)
        start(number, generation);
      if ([...generation.values()].every((each) => each.ready)) void replace(attempt);
      return;
    }
    tellMember(child, { kind: 'begin' });
    doors.flush();
    if (phase !== 'starting') return;
    if (!first) {
      first = ready;
      for (let number = 2; number <= ready.processes; number += 1) start(number, current);
    }
    if ([...current.values()].some((each) => !each.ready)) return;
    phase = 'serving';
    // First, for whoever reads the next line may send a signal at once.
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
    setInterval(endSilent, aliveMs);
    process.stdout.write(first.text);
    prepareNext();
    if (wish !== undefined) begin();
  }

  function ended(slot: Slot, code: number | null, signal: NodeJS.Signals | null): void {
    slots.delete(slot);
    slot.doors.clear();
    // What it has said before is read by then. Node tells of no disconnection while a connection is on its way.
    setImmediate(() => setImmediate(doors.lost, slot.child));
    exchange.ended(slot.child);
    left(slot);
    if (slot === standby) standby = undefined;
    if (phase === 'stopping') {
      if (slot.ready && code !== 0) exitCode = 1;
      if (slots.size === 0) endAs();
    } else if (slot.generation === attempt?.generation) failed(attempt, code, signal);
    else if (slot.generation !== current || current.get(slot.number) !== slot) return;
    else if (phase === 'starting' && slot.canBeMended) waitForChange();
    else if (phase === 'starting') failedToStart(code, signal);
    else restart(slot, { code, signal });
  }

  function restart(slot: Slot, end: { code: number | null; signal: NodeJS.Signals | null }): void {
    const wait = slot.waitAfter(performance.now() - slot.startedAt);
    void tell(
      { process: slot.number, ended_pid: slot.child.pid, ...end, restart_ms: wait },
      'a process ended that was not told to; another one is started',
    );
    startIn(wait, slot);
  }

  function startIn(wait: number, slot: Slot): void {
    const timer = setTimeout(() => {
      waiting.delete(timer);
      try {
        start(slot.number, current);
      } catch (error) {
        notBegun(slot, error);
      }
    }, wait);
    waiting.add(timer);
  }

  /** One could not even be made; those that serve go on. */
  function notBegun(slot: Slot, error: unknown): void {
    const { message } = error as Error;
    if (phase === 'starting') {
      process.stderr.write(`helper-gateway: no process could be started: ${message}\n`);
      killAll();
      process.exit(1);
    }
    if (phase === 'stopping') {
      if (slots.size === 0) endAs();
      return;
    }
    if (slot.generation !== current) {
      if (slot === standby) standby = undefined;
      if (slot.generation === attempt?.generation) failed(attempt, null, null);
      return;
    }
    const wait = slot.waitAfter(0);
    void tell(
      { process: slot.number, reason: message, restart_ms: wait },
      'no process could be started; it is tried again',
    );
    startIn(wait, slot);
  }

  /** Somebody writes helpers, and one keeps the first start from succeeding. */
  function waitForChange(): void {
    isWaiting = true;
    process.stderr.write('helper-gateway: it starts again when a file is saved\n');
    if (wish !== undefined) reload(wish);
  }

  /** Why is told by the process itself, unless it was not asked. */
  function failedToStart(code: number | null, signal: NodeJS.Signals | null): void {
    if (signal) process.stderr.write(`helper-gateway: it was ended by ${signal} while it started\n`);
    killAll();
    process.exit(code ?? 1);
  }

  /** Has processes with the files as they are take the place of those that serve. */
  function reload(changed: ReadonlySet<string> | 'all'): void {
    if (phase === 'stopping') return;
    wish = both(changed, wish);
    if (phase === 'starting') {
      if (!isWaiting) return;
      isWaiting = false;
      wish = undefined;
      start(1, current);
      return;
    }
    if (!attempt) begin();
    else if (!giveWay) {
      const leftMs = attempt.since + patienceMs - performance.now();
      giveWay = setTimeout(
        (late: Attempt) => {
          if (attempt !== late || isHeld) return;
          late.givesWay = true;
          for (const { child } of late.generation.values()) child.kill('SIGKILL');
        },
        Math.max(0, leftMs),
        attempt,
      );
    }
  }

  function begin(): void {
    if (wish === undefined) return;
    const changed = both(wish, missed);
    wish = missed = undefined;
    const generation: Generation = standby?.generation ?? new Map();
    attempt = { generation, changed: changed === 'all' ? undefined : changed, since: performance.now() };
    if (standby) tellMember(standby.child, { kind: 'load', served: servedNow() });
    else startNext(generation);
    standby = undefined;
  }

  function startNext(generation: Generation): void {
    try {
      start(1, generation);
    } catch (error) {
      void tell({ reason: (error as Error).message }, 'no process could be started');
      if (attempt) failed(attempt, null, null);
    }
  }

  /** Keeps the next process ready, up to where it reads plugins. */
  function prepareNext(): void {
    if (!dev || standby || phase !== 'serving') return;
    try {
      standby = start(1, new Map(), true);
    } catch {
      // One is started when it is needed.
    }
  }

  function failed(failure: Attempt, code: number | null, signal: NodeJS.Signals | null): void {
    attempt = undefined;
    clearTimeout(giveWay);
    giveWay = undefined;
    missed = failure.changed ?? 'all';
    for (const { child } of failure.generation.values()) child.kill('SIGKILL');
    const ms = Math.round(performance.now() - failure.since);
    if (!failure.givesWay && !dev) {
      void tell({ code, signal, ms }, 'plugins could not be reloaded; what was served before still is');
    }
    prepareNext();
    begin();
  }

  let onLeft: ((slot: Slot) => void) | undefined;

  function left(slot: Slot): void {
    onLeft?.(slot);
  }

  /**
   * The processes that serve answer what they have begun to read, and give all else back; then the new ones accept. So no call is
   * answered by an older version once a newer one has answered.
   */
  async function replace({ generation, changed, since }: Attempt): Promise<void> {
    clearTimeout(giveWay);
    giveWay = undefined;
    const before = servedNow();
    const old = [...current.values()].filter(({ child }) => !hasEnded(child));
    for (const timer of waiting) clearTimeout(timer);
    waiting.clear();
    isHeld = true;
    current = generation;
    attempt = undefined;
    const leaving = new Set(old.filter((slot) => slot.ready));
    for (const slot of old) {
      slot.leavingSince = performance.now();
      // One that has not begun to serve has nothing to finish.
      if (slot.ready) tellMember(slot.child, { kind: 'leave' });
      else slot.child.kill('SIGKILL');
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, handOverMs);
      onLeft = (slot) => {
        leaving.delete(slot);
        if (leaving.size > 0) return;
        clearTimeout(timer);
        resolve();
      };
      if (leaving.size === 0) {
        clearTimeout(timer);
        resolve();
      }
    });
    onLeft = undefined;
    isHeld = false;
    for (const { child } of generation.values()) tellMember(child, { kind: 'begin' });
    doors.flush();
    const changes = changesOf(before, servedNow(), changed);
    const ms = Math.round(performance.now() - since);
    if (!dev) (await logOf()).info({ ...changes, failed: 0, ms }, 'plugins reloaded');
    else {
      const line = describeChanges(changes);
      if (line !== undefined) process.stdout.write(`${line} in ${ms} ms\n`);
    }
    prepareNext();
    if (!attempt) begin();
  }

  function servedNow(): Served | undefined {
    const ready = [...current.values()].find((slot) => slot.ready)?.ready;
    return ready && { helpers: ready.helpers, problems: ready.problems };
  }

  async function watch(child: ChildProcess, folders: string[], pollMs: number | undefined): Promise<void> {
    if (!watcher) {
      const { watchFiles } = await import('./watch-files.js');
      watcher = await watchFiles(folders, { pollMs, onChange: reload });
    }
    tellMember(child, { kind: 'watched' });
  }

  /** Never rejects: a host without memory or files to open the log must not lose what still serves. */
  async function tell(what: object, message: string): Promise<void> {
    try {
      (await logOf()).error(what, message);
    } catch {
      process.stderr.write(`helper-gateway: ${message}: ${JSON.stringify(what)}\n`);
    }
  }

  /** A process in a loop hears no signal, and one that waits for what never comes does not end by itself. */
  function endSilent(): void {
    for (const slot of slots) {
      const { number, child, leavingSince } = slot;
      const ready = slot.ready;
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
      void tell({ process: number, killed_pid: child.pid }, `a process is killed: ${why}`);
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
    clearTimeout(giveWay);
    for (const timer of waiting) clearTimeout(timer);
    for (const { ready, child, leavingSince, generation } of slots) {
      // One that has not begun to serve has nothing to finish.
      if (!ready || (generation !== current && leavingSince === undefined)) child.kill('SIGKILL');
      else if (leavingSince === undefined) tellMember(child, { kind: 'signal', signal });
    }
    if (slots.size === 0) endAs();
  }

  function onHangups(): void {
    if (process.platform === 'win32') return;
    const terminal = [0, 1, 2].find((fd) => isatty(fd));
    const onHangup = () => {
      const isGone = terminal !== undefined && !isatty(terminal);
      if (!isGone) return reload('all');
      // By the signal's own way: Node cannot put a terminal back that is gone, and would abort.
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

  /** A signal that comes while the first start is under way ends all at once: what is in a loop there hears none. */
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

function both(
  one: ReadonlySet<string> | 'all',
  other: ReadonlySet<string> | 'all' | undefined,
): ReadonlySet<string> | 'all' {
  return one === 'all' || other === 'all' ? 'all' : new Set([...one, ...(other ?? [])]);
}

/** A process that has lived so long did not end of its start: the next one is started at once again. */
const soundMs = 60_000;
const firstMs = 1_000;
const mostMs = 30_000;

/**
 * How long to wait before a process that ended is started again: not at all the first time, then 1, 2, 4 … 30 seconds. What ends
 * with every start must not take the processor from what works.
 */
export function createBackOff(): (livedMs: number) => number {
  let next = 0;
  return function waitAfter(livedMs) {
    if (livedMs >= soundMs) next = 0;
    const wait = next;
    next = Math.min(mostMs, next === 0 ? firstMs : 2 * next);
    return wait;
  };
}
