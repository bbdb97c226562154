import { createInvitations, type Invitations } from './auth/invitations.js';
import { createOnce, type Once } from './auth/once.js';
import { createPeople, type People } from './auth/people.js';
import { loadSecret } from './auth/secret.js';
import { createSignIn, type SignIn } from './auth/sign-in.js';
import { createThrottle, type Throttle } from './auth/throttle.js';
import type { ConnectParts } from './parts.js';

/** What the pages work with: the given parts, and the site's own. */
export interface Site extends ConnectParts {
  secret: string;
  signIn: SignIn;
  people: People;
  invitations: Invitations;
  once: Once;
  throttle: Throttle;
  now: () => number;
}

export async function createSite(parts: ConnectParts): Promise<Site> {
  const { database, now = Date.now } = parts;
  const secret = await loadSecret(database);
  return {
    ...parts,
    now,
    secret,
    signIn: await createSignIn({ ...parts, secret }),
    people: createPeople(database),
    invitations: createInvitations(database, now),
    once: createOnce(database, now),
    throttle: createThrottle(),
  };
}
