import { createHash, generateKeyPairSync, type KeyPairKeyObjectResult, randomUUID, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What is wrong with it. */
type Fault = 'none' | 'no token' | 'token is garbage' | 'no keys' | 'refuses codes' | 'identity is garbage';

export type IdentityProvider = Awaited<ReturnType<typeof createIdentityProvider>>;

/** Made once in a process, which takes a while. */
let keys: KeyPairKeyObjectResult | undefined;

/** A small identity provider on this machine, whose every visitor is `person`. */
export async function createIdentityProvider() {
  keys ??= generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { privateKey, publicKey } = keys;
  const codes = new Map<string, { nonce: string | null; challenge: string; client: string }>();
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const provider = {
    fault: 'none' as Fault,
    issuer: '',
    person: { sub: 'person-1', email: 'ada@corp.example', email_verified: true },
  };

  function idToken(client: string, nonce: string | null): string {
    const now = Math.floor(Date.now() / 1000);
    const claims = { ...provider.person, iss: provider.issuer, aud: client, iat: now, exp: now + 60, nonce };
    const text = `${encode({ alg: 'RS256', kid: 'one', typ: 'JWT' })}.${encode(claims)}`;
    return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', provider.issuer);
    const json = (value: object, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    if (url.pathname === '/.well-known/openid-configuration') {
      json({
        issuer: provider.issuer,
        authorization_endpoint: `${provider.issuer}/authorize`,
        token_endpoint: `${provider.issuer}/token`,
        jwks_uri: `${provider.issuer}/keys`,
        id_token_signing_alg_values_supported: ['RS256'],
      });
    } else if (url.pathname === '/keys') {
      if (provider.fault === 'no keys') return json({}, 500);
      json({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }] });
    } else if (url.pathname === '/authorize') {
      const code = randomUUID();
      const { searchParams: asked } = url;
      codes.set(code, {
        nonce: asked.get('nonce'),
        challenge: asked.get('code_challenge') ?? '',
        client: asked.get('client_id') ?? '',
      });
      const back = new URL(asked.get('redirect_uri') ?? '');
      back.search = String(new URLSearchParams({ code, state: asked.get('state') ?? '' }));
      response.writeHead(302, { location: back.href }).end();
    } else {
      if (provider.fault === 'no token') return void request.socket.destroy();
      if (provider.fault === 'token is garbage') return json({ message: 'try again' }, 503);
      if (provider.fault === 'refuses codes') return json({ error: 'invalid_grant' }, 400);
      let body = '';
      for await (const part of request) body += part;
      const form = new URLSearchParams(body);
      const asked = codes.get(form.get('code') ?? '');
      const proof = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      if (!asked || asked.challenge !== proof) return json({ error: 'invalid_grant' }, 400);
      codes.delete(form.get('code') ?? '');
      json({
        access_token: 'provider-access-token',
        refresh_token: 'provider-refresh-token',
        token_type: 'Bearer',
        expires_in: 60,
        id_token: provider.fault === 'identity is garbage' ? 7 : idToken(asked.client, asked.nonce),
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  provider.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(provider, {
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  });
}
