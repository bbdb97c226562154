import { isIP } from 'node:net';
import { tryUrl } from '../../../schemas/try-url.js';
import { GatewayError } from '../../errors.js';
import { isLoopbackHost, withoutBrackets } from '../../http/loopback.js';
import type { SiteStage } from '../state.js';

/** What a page may load and where it may send: nothing but the site's own, and pictures of one other origin where one is shown. */
export function policy(picturesOf?: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' data:${picturesOf === undefined ? '' : ` ${picturesOf}`}`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

/** The headers that keep other sites and injected markup off these pages. Nothing here may be kept by a cache. */
export function protect(baseUrl: string): SiteStage {
  const { protocol, hostname } = new URL(baseUrl);
  const overHttps = protocol === 'https:' && !isLoopbackHost(hostname);
  return async function protect(ctx, next) {
    ctx.set({
      'content-security-policy': policy(),
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=()',
      'cache-control': 'no-store',
    });
    if (overHttps) ctx.set('strict-transport-security', 'max-age=31536000');
    await next();
  };
}

/**
 * Answers only under the site's own name, a loopback name or a bare address. Otherwise a page of a stranger, whose name is
 * made to resolve to this host (DNS rebinding), would count as this very site in the browser. An address in place of
 * a name cannot be rebound. The JSON API is open under any name: it takes no cookies.
 */
export function checkHost(baseUrl: string): SiteStage {
  const own = new URL(baseUrl).hostname;
  return async function checkHost(ctx, next) {
    if (ctx.state.answers === 'pages') {
      const name = hostOf(ctx.get('host'));
      if (
        name === undefined ||
        (name !== own && !isLoopbackHost(name) && isIP(withoutBrackets(name)) === 0)
      ) {
        throw new GatewayError('forbidden', {
          message:
            'This site is not served under this host name. Its operator sets the right one in HELPER_CONNECT_URL.',
        });
      }
    }
    await next();
  };
}

function hostOf(header: string): string | undefined {
  if (!/^[\w.:[\]-]+$/.test(header)) return undefined;
  return tryUrl(`http://${header}`)?.hostname;
}
