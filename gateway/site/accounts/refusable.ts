import { GatewayError } from '../../errors.js';

/** Undefined where better-auth refused; what else it throws is a fault: ours as `call` brings it to light, or a bug. */
export async function refusable<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const status = (error as { statusCode?: unknown }).statusCode;
    if (typeof status === 'number' && status < 500) return undefined;
    throw error instanceof GatewayError ? error : new GatewayError('internal', { cause: error });
  }
}
