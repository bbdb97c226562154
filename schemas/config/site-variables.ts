import { readNumber, readText, readUrl } from './forms.js';
import { type Variable, v } from './variable.js';

/** The variables of the key-management site alone. */
export const siteVariables: readonly Variable[] = [
  v(
    'HELPER_API_URL',
    'apiUrl',
    undefined,
    'an address that begins with http:// or https://',
    readUrl('http', 'https'),
    'The API’s address as customers see it, for the site’s curl lines; where it listens if unset.',
  ),
  v(
    'HELPER_CONNECT_URL',
    'connectUrl',
    undefined,
    'an address that begins with http:// or https://',
    readUrl('http', 'https'),
    'The site’s address as people’s browsers see it; where it listens if unset.',
  ),
  v(
    'HELPER_CONNECT_PROXIES',
    'connectProxies',
    '0',
    'a whole number from 0 to 10',
    readNumber,
    'Proxies in front of the site whose X-Forwarded-For is believed.',
  ),
  v(
    'HELPER_OIDC_ISSUER',
    'oidcIssuer',
    undefined,
    'an address that begins with http:// or https://',
    readUrl('http', 'https'),
    'Identity provider (OpenID Connect) for signing in to the site; with its client id and secret.',
  ),
  v(
    'HELPER_OIDC_CLIENT_ID',
    'oidcClientId',
    undefined,
    'a text of 1 to 4096 characters',
    readText,
    'What the identity provider knows the site by.',
  ),
  v(
    'HELPER_OIDC_CLIENT_SECRET',
    'oidcClientSecret',
    undefined,
    'a text of 1 to 4096 characters',
    readText,
    'The site’s secret with the identity provider.',
  ),
  v(
    'HELPER_OIDC_NAME',
    'oidcName',
    'single sign-on',
    'a text of 1 to 4096 characters',
    readText,
    'What the site’s buttons call the identity provider.',
  ),
];
