import type { Logger } from 'pino';
import type { Registry } from './registry.js';

/** Says, at a start, which helpers ask for more time than the operator gives a task: they get his. */
export function tellCutDeadlines(registry: Registry, mostMs: number, logger: Pick<Logger, 'warn'>): void {
  for (const { id: service, declaration } of registry.values()) {
    const { timeoutMs } = declaration;
    if (timeoutMs === undefined || timeoutMs <= mostMs) continue;
    logger.warn(
      { service, timeoutMs, most: mostMs },
      'a helper asks for more time than HELPER_TASK_TIMEOUT_MS gives; its calls end by that',
    );
  }
}
