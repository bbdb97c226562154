import type { CallContext } from '../pipeline/state.js';

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Pictures that were given and drawn never leave the page: they are blobs of its own.
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** The headers of a page that a key is typed into: nothing runs, is loaded or is sent anywhere but here, and nobody frames it. */
export function protect(ctx: Pick<CallContext, 'set'>): void {
  ctx.set({
    'content-security-policy': policy,
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  });
}
