import type { Logger } from 'pino';
import type { WorkerReport } from '../../pool/task.js';

/** Tells the operator where pictures are worked on more slowly than they might be. */
export function tellEngine({ fallbackReason }: WorkerReport, logger: Pick<Logger, 'warn'>): void {
  if (fallbackReason === undefined) return;
  logger.warn({ reason: fallbackReason }, 'sharp cannot be loaded; images are worked on by Jimp, slower');
}
