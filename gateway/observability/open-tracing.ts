import type { Logger } from 'pino';
import type { Closers } from '../closers.js';
import type { Tracing } from './tracing.js';

/** Opens tracing where there is a collector (`HELPER_OTLP_URL`). Without one nothing of it is loaded, and calls are not followed. */
export async function openTracing(
  otlpUrl: string | undefined,
  { logger, closers }: { logger: Logger; closers: Closers },
): Promise<Tracing | undefined> {
  if (otlpUrl === undefined) return undefined;
  const [{ openOtlp }, { createTracing }] = await Promise.all([
    import('./opentelemetry.js'),
    import('./opentelemetry.js'),
  ]);
  return closers.own(createTracing(openOtlp({ url: otlpUrl, logger })));
}
