import type { ImageLimits } from '../../pool/image/engine.js';
import { checkHeader } from '../../pool/image/header/probe.js';
import type { Helper } from '../helpers/registry.js';
import type { Arrivals } from '../http/flow/arrivals.js';
import type { CheckedUrl, Source } from '../source/fetch.js';
import type { AdmittedCall } from './run-task.js';
import type { Stage } from './stage.js';
import type { Caller } from './state.js';

/** A call whose input is known, and with it the file that came. */
interface CallWithInput extends AdmittedCall {
  caller: Caller;
  input: Record<string, unknown>;
  file: Uint8Array | undefined;
}

/** The picture's bytes; absent where the helper wants none, and in a dry run. */
export interface SourceFound {
  source: Uint8Array | undefined;
}

type PictureStage = Stage<CallWithInput, SourceFound>;

/**
 * Brings the picture's bytes, from the upload or the url, to a helper that wants one, and reads their header: what is not
 * a picture, or too large a one, never reaches a worker. A dry run has its url judged and nothing more.
 */
export function fetchSource(
  helper: Helper,
  source: Source,
  arrivals: Arrivals,
  limits: ImageLimits,
): PictureStage {
  const wantsPicture = helper.declaration.source === 'image';

  if (!wantsPicture) return (_, next) => next({ source: undefined });
  return async function fetchSource(call, next) {
    const { input, file } = call;
    const url = typeof input.url === 'string' ? source.check(input.url) : undefined;
    if (call.state.dryrun) return next({ source: undefined });
    if (url) return download(url, call, next);
    // The schema wants the one or the other of every call that is no dry run.
    if (file) checkHeader(file, limits);
    return next({ source: file });
  };

  async function download(
    url: CheckedUrl,
    { state, turn, caller }: CallWithInput,
    next: Parameters<PictureStage>[1],
  ) {
    await turn.expect();
    const arrival = arrivals.enter(caller.tenant.id, 'source_timeout');
    try {
      const signal = AbortSignal.any([arrival.ending.signal, state.gone.signal]);
      const bytes = await source.fetch(url, { tenant: caller.tenant.id, signal, onProgress: arrival.add });
      arrival.complete();
      state.bytesIn += bytes.byteLength;
      checkHeader(bytes, limits);
      return await next({ source: bytes });
    } finally {
      arrival.release();
    }
  }
}
