const bearer = /^Bearer +(\S+)$/i;

/** The token in an `Authorization` header; undefined where it holds none, or more than one (RFC 6750, 2.1). */
export function bearerToken(authorization: string): string | undefined {
  return bearer.exec(authorization)?.[1];
}
