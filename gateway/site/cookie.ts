/** How a cookie of the site's is called and kept: over https alone its name binds it to this host (RFC 6265bis, 4.1.3). */
export interface SiteCookie {
  name: string;
  /** The `Set-Cookie` value; without `maxAge` (seconds) it ends with the browser. */
  set(value: string, maxAge?: number): string;
}

/** A cookie that no script reads and no other site's form brings along. */
export function siteCookie(plainName: string, secure: boolean): SiteCookie {
  const name = secure ? `__Host-${plainName}` : plainName;
  return {
    name,
    set(value, maxAge) {
      const lasts = maxAge === undefined ? '' : ` Max-Age=${maxAge};`;
      return `${name}=${value}; Path=/;${lasts} HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
    },
  };
}
