import type { ImageLimits } from '../../pool/image/engine.js';
import { checkHeader } from '../../pool/image/probe.js';
import { GatewayError } from '../errors.js';
import type { Arrivals } from '../flow/arrivals.js';
import type { CheckedUrl, Source } from '../source/fetch.js';
import type { CallState, Stage } from './state.js';

/**
 * Brings the picture's bytes, from the upload or the url, to a helper that wants one, and reads their header: what is not
 * a picture, or too large a one, never reaches a worker. A dry run has its url judged and nothing more.
 */
export function fetchSource(source: Source, arrivals: Arrivals, limits: ImageLimits): Stage {
  return async function fetchSource(ctx, next) {
    const { helper, input, body, dryrun } = ctx.state;
    if (helper?.declaration.source !== 'image') return next();
    const url = typeof input?.url === 'string' ? source.check(input.url) : undefined;
    if (dryrun) return next();
    if (url) return download(url, ctx.state, next);
    if (!body?.file)
      throw new GatewayError('internal', { cause: new Error('no source passed the validation') });
    await workOn(body.file, ctx.state, next);
  };

  async function download(url: CheckedUrl, state: CallState, next: () => Promise<unknown>): Promise<void> {
    const { tenant, turn, gone } = state;
    if (!tenant || !turn) throw new Error('a source is fetched for a call that was admitted');
    await turn.expect();
    const arrival = arrivals.enter(tenant.id, 'source_timeout');
    try {
      const signal = AbortSignal.any([arrival.signal, gone]);
      const bytes = await source.fetch(url, { signal, onProgress: arrival.add });
      arrival.complete();
      state.bytesIn += bytes.byteLength;
      await workOn(bytes, state, next);
    } finally {
      arrival.release();
    }
  }

  async function workOn(bytes: Uint8Array, state: CallState, next: () => Promise<unknown>): Promise<void> {
    checkHeader(bytes, limits);
    state.source = bytes;
    await next();
  }
}
