import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

interface DevicesOptions {
  secret: string;
  secureCookies: boolean;
  now: () => number;
}

const deviceSeconds = 90 * 86_400;

export type Devices = ReturnType<typeof createDevices>;

/**
 * Marks of browsers that have signed in to an account. A mark opens nothing: its bearer's attempts at that account's password are
 * counted apart from those of strangers, and as few of them are allowed. Signed and not stored, so that every gateway on the
 * database knows them, and they cost no row.
 */
export function createDevices({ secret, secureCookies, now }: DevicesOptions) {
  const cookie = siteCookie('hg_device', secureCookies);
  const sent = new RegExp(`(?:^|;\\s*)${cookie.name}=([\\w-]{22})\\.(\\d{1,15})\\.([\\w-]{43})(?=;|$)`);

  function sign(id: string, ends: string, account: string): string {
    const text = `device\n${id}\n${ends}\n${account.trim().toLowerCase()}`;
    return createHmac('sha256', secret).update(text).digest('base64url');
  }

  return {
    /** The `Set-Cookie` value after a sign-in to an account. */
    remember(account: string): string {
      const id = randomBytes(16).toString('base64url');
      const ends = String(now() + deviceSeconds * 1000);
      return cookie.set(`${id}.${ends}.${sign(id, ends, account)}`, deviceSeconds);
    },
    /** The device of a request's `Cookie` header; undefined where it has not signed in to this account lately. */
    recognise(header: string, account: string): string | undefined {
      const [, id = '', ends = '', signature = ''] = sent.exec(header) ?? [];
      if (id === '' || Number(ends) < now()) return undefined;
      const right = sign(id, ends, account);
      return timingSafeEqual(Buffer.from(signature), Buffer.from(right)) ? id : undefined;
    },
  };
}

/**
 * A cookie that no script can read and no other site's form sends. Over https its name binds it to this host (RFC 6265bis, 4.1.3).
 */
export function siteCookie(plainName: string, secure: boolean) {
  const name = secure ? `__Host-${plainName}` : plainName;
  return {
    name,
    /** The `Set-Cookie` value; without `maxAge` (seconds) it ends with the browser. */
    set(value: string, maxAge?: number): string {
      const lasts = maxAge === undefined ? '' : ` Max-Age=${maxAge};`;
      return `${name}=${value}; Path=/;${lasts} HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
    },
  };
}
