/** Somebody with an account. */
export interface User {
  id: string;
  email: string;
  name: string;
}

/** A session that a request's cookie opens. */
export interface Session {
  id: string;
  user: User;
}

/** What an answer carries besides; `cookies` are `Set-Cookie` values. */
export interface WithCookies {
  cookies: string[];
}

/** How the audit log names somebody who is signed in. */
export function actorOf({ email }: Pick<User, 'email'>): string {
  return `user:${email}`;
}
