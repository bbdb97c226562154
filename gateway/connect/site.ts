import { createDevices, type Devices } from './auth/devices.js';
import { createInvitations, type Invitations } from './auth/invitations.js';
import { createOnce, type Once } from './auth/once.js';
import { createPasswordJudge, type PasswordJudge } from './auth/password-judge.js';
import { createPeople, type People } from './auth/people.js';
import { loadSecret } from './auth/secret.js';
import { createSignIn, type SignIn } from './auth/sign-in.js';
import { createThrottle, type Throttle } from './auth/throttle.js';
import { createTries, type Tries } from './auth/tries.js';
import type { ConnectParts } from './parts.js';

/** What the pages work with: the given parts, and the site's own. */
export interface Site extends ConnectParts {
  secret: string;
  signIn: SignIn;
  people: People;
  invitations: Invitations;
  once: Once;
  /** Of guessing passwords, links and a provider's answers. */
  throttle: Throttle;
  /** Of learning through an invitation, which counts as the account here, who has an account. */
  joining: Throttle;
  /** Of going to the identity provider, by network. */
  departures: Tries;
  devices: Devices;
  passwords: PasswordJudge;
  now: () => number;
}

const JOINING_LIMITS = { pair: 5, account: 10, address: 20, seconds: 86_400 };
/** Many people may share an address, and each that comes back signed in gives theirs back. */
const DEPARTURES = { tries: 60, seconds: 600 };

export async function createSite(parts: ConnectParts): Promise<Site> {
  const { database, now = Date.now } = parts;
  const secret = await loadSecret(database);
  // Earlier versions kept a row here of every way to the provider; now the browser keeps it.
  await database.run((db) => db.deleteFrom('connect_verifications').execute());
  return {
    ...parts,
    now,
    secret,
    signIn: await createSignIn({ ...parts, secret }),
    people: createPeople(database),
    invitations: createInvitations(database, now),
    once: createOnce(database, now),
    throttle: createThrottle(),
    joining: createThrottle(JOINING_LIMITS),
    departures: createTries(DEPARTURES.tries, DEPARTURES.seconds),
    passwords: createPasswordJudge(),
    devices: createDevices({ secret, now, secureCookies: parts.secureCookies }),
  };
}
