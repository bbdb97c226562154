import { port } from './api.js';
import { integer } from './numbers.js';
import { address, anyText, host, siteAddress, token } from './texts.js';
import type { Variables } from './variable.js';

/** The variables of the key-management site. */
export const siteVariables = {
  connectHost: {
    name: 'CONNECT_HOST',
    reader: 'site',
    form: host,
    default: '127.0.0.1',
    description: 'Address of the key-management site.',
  },
  connectPort: {
    name: 'CONNECT_PORT',
    reader: 'site',
    form: port,
    default: '8081',
    description: 'Port of the key-management site and /metrics.',
  },
  apiUrl: {
    name: 'HELPER_API_URL',
    reader: 'site',
    form: siteAddress,
    description:
      'The API’s address as customers see it: for the site’s curl lines, and the name that agents may call it by; where it listens if unset.',
  },
  connectUrl: {
    name: 'HELPER_CONNECT_URL',
    reader: 'site',
    form: siteAddress,
    description: 'The site’s address as people’s browsers see it; where it listens if unset.',
  },
  connectProxies: {
    name: 'HELPER_CONNECT_PROXIES',
    reader: 'site',
    form: integer({ min: 0, max: 10 }),
    default: '0',
    description: 'Proxies in front of the site whose X-Forwarded-For is believed.',
  },
  operatorToken: {
    name: 'HELPER_OPERATOR_TOKEN',
    reader: 'site',
    form: token,
    description: 'Bearer token for the key site’s JSON API and /metrics.',
  },
  oidcIssuer: {
    name: 'HELPER_OIDC_ISSUER',
    reader: 'site',
    form: address('http', 'https'),
    description:
      'Identity provider (OpenID Connect) for signing in to the site; with its client id and secret.',
  },
  oidcClientId: {
    name: 'HELPER_OIDC_CLIENT_ID',
    reader: 'site',
    form: anyText,
    description: 'What the identity provider knows the site by.',
  },
  oidcClientSecret: {
    name: 'HELPER_OIDC_CLIENT_SECRET',
    reader: 'site',
    form: anyText,
    description: 'The site’s secret with the identity provider.',
  },
  oidcName: {
    name: 'HELPER_OIDC_NAME',
    reader: 'site',
    form: anyText,
    default: 'single sign-on',
    description: 'What the site’s buttons call the identity provider.',
  },
} satisfies Variables;
