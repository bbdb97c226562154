import type { ImageLimits } from '../../pool/image/engine.js';
import { checkHeader } from '../../pool/image/probe.js';
import { GatewayError } from '../errors.js';
import type { Source } from '../source/fetch.js';
import type { Stage } from './state.js';

/**
 * Brings the picture's bytes, from the upload or the url, to a helper that wants one, and reads their header: what is not
 * a picture, or too large a one, never reaches a worker. A dry run has its url judged and nothing more.
 */
export function fetchSource(source: Source, limits: ImageLimits): Stage {
  return async function fetchSource(ctx, next) {
    const { helper, input, body, dryrun, place, gone } = ctx.state;
    if (helper?.declaration.source !== 'image') return next();
    const url = typeof input?.url === 'string' ? source.check(input.url) : undefined;
    if (!dryrun) {
      const signal = place ? AbortSignal.any([place.signal, gone]) : gone;
      const bytes = body?.file ?? (url && (await source.fetch(url, { signal })));
      if (!bytes) throw new GatewayError('internal', { cause: new Error('no source passed the validation') });
      checkHeader(bytes, limits);
      if (url) ctx.state.bytesIn += bytes.byteLength;
      ctx.state.source = bytes;
    }
    await next();
  };
}
