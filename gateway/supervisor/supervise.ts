import cluster, { type Worker } from 'node:cluster';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import type { Logger } from 'pino';
import { once } from '../../pool/once.js';
import { createExchange, tellMember } from './exchange.js';
import { aliveMs, type Place, placeVariable, type Ready, type ToPrimary } from './messages.js';

interface SuperviseOptions {
  /** Opens the log, the first time that there is something to tell. */
  openLog(how: Pick<Ready, 'logLevel' | 'json'>): Promise<Pick<Logger, 'error'>>;
}

/** npm passes on a Ctrl-C that the terminal has sent too: that is one signal and not two. */
const echoMs = 500;

interface Slot {
  number: number;
  worker: Worker;
  startedAt: number;
  /** Whether it listens by the number of a port that an earlier one was given for 0. */
  byPort: boolean;
  /** What it said once it served. */
  ready: Ready | undefined;
  /** How long it has not said that its main thread goes on, in looks of this process: while this one is stopped too, none counts. */
  silentFor: number;
  inspected: boolean;
  waitAfter: (livedMs: number) => number;
}

/**
 * Runs this very command in processes of their own, and starts another one where one ends that was not told to: what crashes in
 * native code takes its process along, and no thread can be kept from that. The first starts alone, as it may have to make the
 * database; what it has to say is written once, when all serve. A process that cannot start the first time ends all of them.
 *
 * It loads next to nothing, so that it costs little and has nothing that could fail. Should it be killed, each process ends by
 * itself at once: its channel is closed then.
 */
export function supervise({ openLog }: SuperviseOptions): void {
  // One process accepts its connections itself; several get them in turn, or the first to wake would take most.
  const several = Number(process.env.HELPER_PROCESSES) > 1;
  cluster.schedulingPolicy = several ? cluster.SCHED_RR : cluster.SCHED_NONE;
  const slots = new Map<number, Slot>();
  const waiting = new Set<NodeJS.Timeout>();
  let first: Ready | undefined;
  let phase: 'starting' | 'serving' | 'stopping' = 'starting';
  let stoppingSince = 0;
  let exitCode = 0;
  let endAs = () => process.exit(exitCode);

  const living = () => [...slots.values()].filter(({ worker }) => !worker.isDead());
  const logOf = once(() => openLog(first as Ready));
  const exchange = createExchange((than) =>
    living()
      .filter(({ worker, ready }) => ready && worker !== than)
      .map(({ worker }) => worker),
  );

  function start(number: number): void {
    // Cluster shares a port among those that ask for it by the same number: 0, or the one that 0 has become once nobody held it.
    const serving = living().filter(({ ready }) => ready);
    const byPort = first !== undefined && (serving.length === 0 || serving.some((each) => each.byPort));
    const alone = serving.length === 0;
    const place: Place = { number, ports: first?.ports, byPort, alone, primary: process.pid };
    const worker = cluster.fork({ [placeVariable]: JSON.stringify(place) });
    const waitAfter = slots.get(number)?.waitAfter ?? createBackOff();
    const slot: Slot = {
      number,
      worker,
      startedAt: performance.now(),
      byPort,
      ready: undefined,
      silentFor: 0,
      inspected: false,
      waitAfter,
    };
    slots.set(number, slot);
    // Where the system has no room for a process, or no file for its channel. What else fails of one is followed by its end.
    worker.on('error', (error) => {
      if (worker.process.pid === undefined) notBegun(slot, error);
    });
    if (worker.process.pid === undefined) return;
    closeWith(worker);
    worker.on('message', (message: ToPrimary) => {
      slot.silentFor = 0;
      if (message.kind === 'ready') becomeReady(slot, message);
      else if (message.kind === 'alive') slot.inspected = message.inspected;
      else exchange.take(worker, message);
    });
    worker.on('exit', (code, signal) => ended(slot, code, signal as NodeJS.Signals | null));
  }

  function becomeReady(slot: Slot, ready: Ready): void {
    slot.ready = ready;
    if (phase !== 'starting') return;
    if (!first) {
      first = ready;
      for (let number = 2; number <= ready.processes; number += 1) start(number);
    }
    if ([...slots.values()].some((each) => !each.ready)) return;
    phase = 'serving';
    // First, for whoever reads the next line may send a signal at once.
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
    setInterval(endSilent, aliveMs);
    process.stdout.write(first.text);
  }

  function ended(slot: Slot, code: number | null, signal: NodeJS.Signals | null): void {
    exchange.ended(slot.worker);
    if (phase === 'starting') failed(code, signal);
    else if (phase === 'serving') restart(slot, { code, signal });
    else {
      if (slot.ready && code !== 0) exitCode = 1;
      if (living().length === 0) endAs();
    }
  }

  function restart(slot: Slot, end: { code: number | null; signal: NodeJS.Signals | null }): void {
    const wait = slot.waitAfter(performance.now() - slot.startedAt);
    void tell(
      { process: slot.number, ended_pid: slot.worker.process.pid, ...end, restart_ms: wait },
      'a process ended that was not told to; another one is started',
    );
    startIn(wait, slot);
  }

  function startIn(wait: number, slot: Slot): void {
    const timer = setTimeout(() => {
      waiting.delete(timer);
      try {
        start(slot.number);
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
      if (living().length === 0) endAs();
      return;
    }
    const wait = slot.waitAfter(0);
    void tell(
      { process: slot.number, reason: message, restart_ms: wait },
      'no process could be started; it is tried again',
    );
    startIn(wait, slot);
  }

  /** Why is told by the process itself, unless it was not asked. */
  function failed(code: number | null, signal: NodeJS.Signals | null): void {
    if (signal) process.stderr.write(`helper-gateway: it was ended by ${signal} while it started\n`);
    killAll();
    process.exit(code ?? 1);
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
    const stoppingFor = performance.now() - stoppingSince;
    const isStopping = phase === 'stopping';
    for (const slot of living()) {
      const { number, ready, worker } = slot;
      slot.silentFor += aliveMs;
      if (!ready || slot.inspected) continue;
      const silentMs = isStopping ? Math.min(ready.silentAtEndMs, ready.silentMs) : ready.silentMs;
      const isSilent = slot.silentFor > silentMs;
      if (!isSilent && !(isStopping && stoppingFor > ready.stopMs)) continue;
      const why = isSilent
        ? `its main thread has not responded for ${silentMs} ms`
        : `it has not ended within ${ready.stopMs} ms`;
      void tell({ process: number, killed_pid: worker.process.pid }, `a process is killed: ${why}`);
      worker.process.kill('SIGKILL');
    }
  }

  function killAll(): void {
    for (const { worker } of living()) worker.process.kill('SIGKILL');
  }

  function stop(signal: NodeJS.Signals): void {
    if (phase === 'stopping') {
      if (performance.now() - stoppingSince <= echoMs) return;
      killAll();
      process.exit(1);
    }
    phase = 'stopping';
    stoppingSince = performance.now();
    for (const timer of waiting) clearTimeout(timer);
    for (const { ready, worker } of living()) {
      // One that has not begun to serve has nothing to finish.
      if (ready) tellMember(worker, { kind: 'signal', signal });
      else worker.process.kill('SIGKILL');
    }
    if (living().length === 0) endAs();
  }

  function passHangups(): void {
    if (process.platform === 'win32') return;
    const terminal = [0, 1, 2].find((fd) => isatty(fd));
    const onHangup = () => {
      const isGone = terminal !== undefined && !isatty(terminal);
      if (!isGone || phase !== 'serving') {
        for (const { worker } of living()) tellMember(worker, { kind: 'signal', signal: 'SIGHUP' });
        if (!isGone) return;
      }
      // By the signal's own way: Node cannot put a terminal back that is gone, and would abort.
      endAs = () => {
        process.off('SIGHUP', onHangup);
        process.kill(process.pid, 'SIGHUP');
        return undefined as never;
      };
      if (phase === 'serving') stop('SIGHUP');
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

  passHangups();
  endEarly();
  start(1);
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

/** A connection as Node's cluster hands it on. */
interface Handle {
  close(...given: unknown[]): unknown;
}

/** What goes between Node's cluster and a process of it, as far as it is looked at here. */
interface Passed {
  act?: string;
  seq?: number;
  ack?: number;
  accepted?: boolean;
}

/** In this time another process has taken a connection that one refused, if there is any that takes more. */
const dealtMs = 1_000;

/**
 * Closes connections of which Node would forget its own end: those that were being handed to a process when it ended, and those that
 * came as the last process stopped to listen. Their clients would wait in vain, where they could call again.
 */
function closeWith(worker: Worker): void {
  const onTheirWay = new Map<number, Handle>();
  const child = worker.process;
  const send = child.send.bind(child) as (...given: unknown[]) => boolean;
  child.send = function sendAndNote(message: Passed, handle?: Handle, ...rest: unknown[]): boolean {
    if (message.act === 'newconn' && message.seq !== undefined && handle) onTheirWay.set(message.seq, handle);
    return send(message, handle, ...rest);
  } as typeof child.send;
  child.on('internalMessage', ({ ack, accepted }: Passed) => {
    const handle = ack === undefined ? undefined : onTheirWay.get(ack);
    if (!handle) return;
    onTheirWay.delete(ack as number);
    // Twice is once.
    if (accepted === false) setTimeout(() => handle.close(), dealtMs).unref();
  });
  worker.on('exit', () => {
    for (const handle of onTheirWay.values()) handle.close();
  });
}
