import type { Logger } from 'pino';
import { loggedMs } from '../../http/follow-request.js';
import type { Metrics } from '../../metrics/metrics.js';
import type { Job } from '../model.js';
import { jobState } from '../model.js';
import type { ItemCall } from './item-call.js';
import type { Retry } from './retries.js';

export type ItemObserver = Pick<Metrics, 'observeItem'>['observeItem'];

/** Tells the log, the metrics and the traces of items and jobs. */
export function createItemLog(logger: Logger, observe: ItemObserver | undefined) {
  function lineOf({ item, state }: ItemCall) {
    const { caller, code, fault } = state;
    return {
      request_id: state.requestId,
      trace_id: state.trace?.id,
      job: item.job,
      index: item.index,
      service: item.of.service,
      code,
      tenant: caller?.tenant.name,
      key: item.of.key_id,
      dryrun: state.dryrun || undefined,
      attempt: item.attempt > 1 ? item.attempt : undefined,
      err: fault,
    };
  }

  return {
    /** An item has come to its end, this long after it was begun here. */
    ended(call: ItemCall, { ms, waitMs }: { ms: number; waitMs: number }): void {
      const { state, item } = call;
      const line = { ...lineOf(call), ms: loggedMs(ms) };
      if (state.fault !== undefined) logger.error(line, 'item failed');
      else logger.info(line, 'item');
      observe?.({
        service: item.of.service,
        code: state.code ?? 'ok',
        waitSeconds: waitMs / 1000,
        taskMs: state.taskMs,
        weight: state.caller?.tenant.weight ?? 1,
      });
    },
    /** Another process has ended it first, which is the one that counts it. */
    endedBefore(call: ItemCall): void {
      logger.info(lineOf(call), 'item had ended already');
    },
    /** It is to be worked on again, by whoever takes it. */
    again(call: ItemCall, { counted, delayMs }: Retry): void {
      if (!counted) return;
      logger.warn({ ...lineOf(call), delay_ms: delayMs }, 'item failed by a fault here, and is tried again');
    },
    /** Nothing more is done here for one, whatever has become of it. */
    left({ state: { trace, code, fault } }: ItemCall): void {
      trace?.end({ code, isFault: fault !== undefined });
    },
    jobEnded(job: Job): void {
      const { id, service, total, done, failed, cancelled } = job;
      logger.info({ job: id, service, state: jobState(job), total, done, failed, cancelled }, 'job ended');
    },
  };
}
