import type { Logger } from 'pino';
import type { WorkerReport } from '../../pool/task.js';

/** Tells at the start that images are worked on by Jimp where sharp was wanted. */
export function tellFallback({ fallbackReason }: WorkerReport, logger: Logger): void {
  if (fallbackReason === undefined) return;
  logger.warn({ reason: fallbackReason }, 'sharp cannot be loaded; images are worked on by Jimp, slower');
}
