import { performance } from 'node:perf_hooks';
import type { BytesAnswer } from '../../pool/answer.js';
import { type CallOptions, callPlugin } from '../../pool/call-plugin.js';
import type { HelperParts } from '../../pool/context/handler-context.js';
import { type LogLine, refusalIn } from '../../pool/context/messages.js';
import { PoolError, readThrown } from '../../pool/errors.js';
import { makePreview } from '../../pool/image/preview.js';
import { createInputValidator } from '../../pool/input-validator.js';
import type { Plugin } from '../../pool/plugin.js';
import type { Pool } from '../../pool/pool.js';
import type { CallTask, PreviewTask, Task, TaskOutcome } from '../../pool/task.js';
import { isInspected } from '../../pool/task-limits.js';
import type { RunTaskOptions } from '../../pool/ticket.js';
import type { Abilities } from '../../schemas/keywords/keyword.js';
import { MainScope } from '../pipeline/run-helper.js';

/** Milliseconds that a handler has after its deadline to end by itself. */
const graceMs = 250;

const never = new AbortController().signal;

interface ThisThreadOptions extends CallOptions {
  plugin: Plugin;
  parts: HelperParts;
  abilities: Abilities;
  timeoutMs: number;
  onLog: (line: LogLine) => void;
  /** Called with the handler's error, before it becomes data. */
  onThrown: (error: unknown) => void;
}

/**
 * Stands in for the pool: does in this thread what a worker would do. Nothing guards the process against the helper, so that what
 * it lets escape fails the test run as in any program.
 */
export function inThisThread(options: ThisThreadOptions): Pick<Pool, 'ticket'> {
  const { plugin, parts, abilities, onLog, onThrown } = options;
  const judge = createInputValidator(abilities);

  async function call(task: CallTask, { host, signal = never }: RunTaskOptions): Promise<TaskOutcome> {
    const scope = new MainScope(
      { state: { signal, bytesIn: 0 }, caller: testCaller },
      task.context,
      {
        log: { logLevel: 'trace', write: onLog },
        fetch: (_, request, signal) => {
          if (!host) throw new Error('nothing is fetched for this task');
          return host.fetch(request, signal);
        },
      },
      parts,
    );
    const loaded = { service: task.context.service, plugin, shipped: true, parts };
    // A worker has loaded it before the call's time begins.
    if (task.files) await options.engine;
    const timeoutMs = task.timeoutMs ?? options.timeoutMs;
    const began = performance.now();
    // While the handler computes no timer runs here.
    const isLate = () => !isInspected() && performance.now() - began > timeoutMs;
    const timers: NodeJS.Timeout[] = [];
    let giveUp = () => {};
    const over = new Promise<never>((_, reject) => {
      const expire = () => {
        scope.abort('deadline');
        const late = () => reject(lateError());
        timers.push(setTimeout(late, graceMs));
      };
      // A breakpoint must not end the call.
      if (!isInspected()) timers.push(setTimeout(expire, timeoutMs));
      giveUp = () => {
        scope.abort('gone');
        reject(new PoolError('shutting_down', 'the call was given up'));
      };
      if (signal.aborted) giveUp();
      signal.addEventListener('abort', giveUp);
    });
    try {
      const value = await Promise.race([callPlugin(loaded, task, scope, options), over]);
      if (isLate()) throw lateError();
      return { ok: true, value, ms: 0 };
    } catch (error) {
      if (error instanceof PoolError || !isLate()) throw error;
      throw lateError(error);
    } finally {
      for (const timer of timers) clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      scope.end();
    }
  }

  async function preview({ bytes, maxBytes }: PreviewTask): Promise<BytesAnswer> {
    const { body, type } = await makePreview(await options.engine, bytes, options.limits, { maxBytes });
    return { kind: 'bytes', bytes: body, type };
  }

  async function run(task: Task, options: RunTaskOptions): Promise<TaskOutcome> {
    const began = performance.now();
    try {
      if (task.kind === 'call') return await call(task, options);
      const value = task.kind === 'judge' ? judge(task) : await preview(task);
      return { ok: true, value, ms: performance.now() - began };
    } catch (error) {
      if (error instanceof PoolError) throw error;
      onThrown(error);
      const refusal = refusalIn(error);
      const failed = { ok: false as const, ...readThrown(error), ms: performance.now() - began };
      return refusal ? { ...failed, refusal } : failed;
    }
  }

  return {
    ticket: () => ({
      reserve: async () => undefined,
      cancelReservation: () => undefined,
      run: (task, options = {}) => run(task, options),
      release: () => undefined,
    }),
  };
}

function lateError(cause?: unknown): PoolError {
  return new PoolError('helper_timeout', 'the task ran past its time', { cause });
}

const testCaller = {
  tenant: {
    id: 'test',
    name: 'test',
    weight: 1,
    limits: { rate: null, burst: null, monthly_quota: null, in_flight: null },
  },
  keyId: 'test',
  scopes: null,
};
