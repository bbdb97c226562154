/** All that a source learns of the gateway, besides what is asked for: no key, cookie, referrer or client address goes out. */
export const ownHeaders = { 'user-agent': 'helper-gateway', 'accept-encoding': 'identity' };
