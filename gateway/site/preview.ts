import { isLoopbackHost, withoutBrackets } from '../http/loopback.js';

/** Addresses that mean "every address of this machine", and none to whoever is elsewhere. */
const everyAddress = ['0.0.0.0', '::'];

/**
 * Why a page of the site cannot show a picture of the API, in words that read on from "No preview:"; undefined where it can. Both
 * are addresses as people's browsers are to use them.
 */
export function whyNoPreview(siteUrl: string, apiUrl: string): string | undefined {
  const site = new URL(siteUrl);
  const api = new URL(apiUrl);
  const host = withoutBrackets(api.hostname);
  const isOwn = isLoopbackHost(api.hostname) || everyAddress.includes(host);
  if (isOwn && !isLoopbackHost(site.hostname)) {
    return 'this site does not know the API’s public address, which its operator sets in HELPER_API_URL.';
  }
  if (site.protocol === 'https:' && api.protocol === 'http:' && !isOwn) {
    return 'the API’s address is one without https, and browsers show no picture of such a one on a page like this.';
  }
  if (host.includes(':')) return 'a page’s policy cannot name the API’s address, which is one of IPv6.';
  return undefined;
}
