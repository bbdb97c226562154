import { setTimeout as sleep } from 'node:timers/promises';
import { visible } from '../../schemas/quote.js';
import { isTouched } from '../plugins/discover.js';
import {
  type ExitStatus,
  type Generation,
  hasEnded,
  type Ready,
  type Served,
  type Slot,
  sendTo,
} from './messages.js';

/** Files that have changed, or everything. */
export type Changed = ReadonlySet<string> | 'all';

/** What replacing processes needs of the supervisor. */
interface ReplacementHost {
  /** In `dev` the next process is kept ready, and the result goes to the terminal. */
  dev: boolean;
  isServing(): boolean;
  /** The processes that serve, or are to. */
  current(): Generation;
  /** Throws, or returns undefined, where the system cannot make a process. */
  start(number: number, generation: Generation, isStandby?: boolean): Slot | undefined;
  /** From now on this generation is the current one; connections wait until `begin`. */
  hold(generation: Generation): void;
  /** Has the current generation serve. */
  begin(): void;
  log(level: 'info' | 'error', what: object, message: string): Promise<void>;
}

interface Attempt {
  generation: Generation;
  changed: Changed;
  since: number;
  /** Given up for a newer one. */
  isAbandoned?: boolean;
}

/** Old processes that have not handed over by then do so beside the new ones. */
const handOverMs = 2_000;
/** A start that takes longer gives way to a newer change: it may wait for an import that never ends and is mended by now. */
const longStartMs = 1_000;

/** Replaces the processes that serve by new ones, one replacement at a time. */
export function createReplacement(host: ReplacementHost) {
  const { dev } = host;
  let attempt: Attempt | undefined;
  let standby: Slot | undefined;
  /** What has changed since the last replacement began. */
  let pending: Changed | undefined;
  /** What a replacement that failed was to bring. */
  let missed: Changed | undefined;
  let abandoning: NodeJS.Timeout | undefined;

  /** Asks for processes with the files as they are; begins as soon as the gateway serves. */
  function request(changed: Changed): void {
    pending = join(changed, pending);
    if (!host.isServing()) return;
    const late = attempt;
    if (!late) next();
    else
      abandoning ??= setTimeout(
        () => {
          late.isAbandoned = true;
          for (const { child } of late.generation.values()) child.kill('SIGKILL');
        },
        Math.max(0, late.since + longStartMs - performance.now()),
      );
  }

  function next(): void {
    if (pending === undefined || attempt) return;
    const changed = join(pending, missed);
    pending = missed = undefined;
    attempt = { generation: standby?.generation ?? new Map(), changed, since: performance.now() };
    if (standby) sendTo(standby.child, { kind: 'load', served: servedBy(host.current()) });
    else startFirst(attempt);
    standby = undefined;
  }

  function startFirst({ generation }: Attempt): void {
    try {
      host.start(1, generation);
    } catch (error) {
      void host.log('error', { reason: (error as Error).message }, 'no process could be started');
      if (attempt) failed(attempt, { code: null, signal: null });
    }
  }

  /** Starts the next process, up to where it reads plugins. */
  function prepare(): void {
    if (!dev || standby || !host.isServing()) return;
    try {
      standby = host.start(1, new Map(), true);
    } catch {
      // It is started when it is needed.
    }
  }

  function endAttempt(): void {
    attempt = undefined;
    clearTimeout(abandoning);
    abandoning = undefined;
  }

  function failed({ generation, changed, since, isAbandoned }: Attempt, exit: ExitStatus): void {
    endAttempt();
    missed = changed;
    for (const { child } of generation.values()) child.kill('SIGKILL');
    if (!isAbandoned && !dev) {
      const ms = Math.round(performance.now() - since);
      const message = 'plugins could not be reloaded; what was served before still is';
      void host.log('error', { ...exit, ms }, message);
    }
    prepare();
    next();
  }

  /** Old processes return idle connections before new ones accept: no older version answers after a newer one. */
  async function handOver({ generation, changed, since }: Attempt): Promise<void> {
    endAttempt();
    const old = [...host.current().values()].filter(({ child }) => !hasEnded(child));
    const before = servedBy(host.current());
    host.hold(generation);
    for (const slot of old) {
      slot.leavingSince = performance.now();
      // One that does not serve yet has nothing to finish.
      if (slot.ready) sendTo(slot.child, { kind: 'leave' });
      else slot.child.kill('SIGKILL');
    }
    const left = Promise.all(old.filter(({ ready }) => ready).map((slot) => slot.left));
    await Promise.race([left, sleep(handOverMs, undefined, { ref: false })]);
    host.begin();
    const changes = changesOf(before, servedBy(generation), changed);
    const ms = Math.round(performance.now() - since);
    if (dev) {
      const line = describeChanges(changes);
      if (line !== undefined) process.stdout.write(`${line} in ${ms} ms\n`);
    } else await host.log('info', { ...changes, failed: 0, ms }, 'plugins reloaded');
    prepare();
    next();
  }

  return {
    request,
    /** Withdraws what was asked for; true where something was. */
    withdraw(): boolean {
      const wasPending = pending !== undefined;
      pending = undefined;
      return wasPending;
    },
    /** Begins what was asked for, and keeps the next process ready. */
    resume(): void {
      prepare();
      next();
    },
    /** A process is ready; false where it does not belong to a replacement. */
    ready({ generation }: Slot, { processes }: Ready): boolean {
      if (attempt?.generation !== generation) return false;
      for (let number = generation.size + 1; number <= processes; number += 1) host.start(number, generation);
      if ([...generation.values()].every(({ ready }) => ready)) void handOver(attempt);
      return true;
    },
    /** A process has ended, or could not be made; false where it does not belong to a replacement. */
    ended(slot: Slot, exit: ExitStatus): boolean {
      if (slot === standby) standby = undefined;
      else if (attempt?.generation === slot.generation) failed(attempt, exit);
      else return false;
      return true;
    },
    close: () => clearTimeout(abandoning),
  };
}

function join(one: Changed, other: Changed | undefined): Changed {
  return one === 'all' || other === 'all' ? 'all' : new Set([...one, ...(other ?? [])]);
}

/** Without the greeting, which may have the first key: what this gives stands in a process's environment. */
export function servedBy(generation: Generation): Served | undefined {
  const ready = [...generation.values()].find((slot) => slot.ready)?.ready;
  return ready && { helpers: ready.helpers, problems: ready.problems };
}

/** What a replacement has changed; helpers by their ids. */
interface Changes {
  added: string[];
  reloaded: string[];
  removed: string[];
}

/** Of the helpers that stay, those are listed that a change of these files may concern. */
export function changesOf(before: Served | undefined, now: Served | undefined, changed: Changed): Changes {
  const [old, fresh] = [before?.helpers ?? {}, now?.helpers ?? {}];
  const files = new Set(Object.values(fresh));
  const isConcerned = (id: string) => {
    const file = fresh[id] as string;
    return file !== old[id] || changed === 'all' || [...changed].some((each) => isTouched(file, each, files));
  };
  return {
    added: Object.keys(fresh).filter((id) => !(id in old)),
    reloaded: Object.keys(fresh).filter((id) => id in old && isConcerned(id)),
    removed: Object.keys(old).filter((id) => !(id in fresh)),
  };
}

/** In a line: `reloaded text/shout`, of many helpers the first. Undefined where nothing that is served has changed. */
export function describeChanges(changes: Changes): string | undefined {
  const parts = Object.entries(changes).map(([what, ids]: [string, string[]]) => {
    if (ids.length <= 5) return ids.length > 0 ? `${what} ${ids.join(', ')}` : '';
    return `${what} ${ids.slice(0, 4).join(', ')} and ${ids.length - 4} more`;
  });
  return visible(parts.filter(Boolean).join(', ')) || undefined;
}
