import type { Logger } from 'pino';
import type { Pool } from '../../pool/pool.js';
import { loadColorNames } from '../../schemas/vocabulary/color/names.js';
import { loadKoaBody } from '../http/body/text-body.js';
import { loadUndici } from '../source/connection.js';

export interface FirstCallsOptions {
  pool: Pick<Pool, 'warm'>;
  logger: Pick<Logger, 'error'>;
}

/**
 * Loads what a start has no use for and one of the first calls has: begun when the gateway listens, so that neither waits for it. What
 * few gateways ever use is loaded with its first use instead: the protocol of agents, signing in to the site.
 */
export async function loadForFirstCalls({ pool, logger }: FirstCallsOptions): Promise<void> {
  try {
    await loadKoaBody();
    await loadUndici();
    loadColorNames();
    await pool.warm();
  } catch (error) {
    logger.error({ err: error }, 'what the first calls need could not be loaded');
  }
}
