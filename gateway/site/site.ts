import { createAudited } from './accounts/audited.js';
import { createDevices, type Devices } from './accounts/devices.js';
import { createInvitations, type Invitations } from './accounts/invitations.js';
import { createMemberAdmin, type MemberAdmin } from './accounts/member-admin.js';
import { createOnce, type Once } from './accounts/once.js';
import { createPasswordJudge, type PasswordJudge } from './accounts/password-judge.js';
import { createPeople, type People } from './accounts/people.js';
import { loadSecret } from './accounts/secret.js';
import { createSignIn, type SignIn } from './accounts/sign-in.js';
import { createThrottle, type Throttle } from './accounts/throttle.js';
import { createTries, type Tries } from './accounts/tries.js';
import type { SiteOptions } from './options.js';

/** What the pages work with: what the site was given, and what it makes itself. */
export interface Site extends SiteOptions {
  secret: string;
  signIn: SignIn;
  people: People;
  invitations: Invitations;
  members: MemberAdmin;
  once: Once;
  /** Of guessing passwords, links and a provider's answers. */
  throttle: Throttle;
  /** Of going to the identity provider, by network. */
  departures: Tries;
  devices: Devices;
  passwords: PasswordJudge;
  now: () => number;
}

const joiningLimits = { pair: 5, account: 10, address: 20, seconds: 86_400 };
/** Many people may share an address, and each that comes back signed in gives theirs back. */
const mostDepartures = { tries: 60, seconds: 600 };

export async function createSite(options: SiteOptions): Promise<Site> {
  const { database, now = Date.now } = options;
  const secret = await loadSecret(database);
  // Earlier versions kept a row here of every way to the provider; now the browser keeps it.
  await database.run((db) => db.deleteFrom('connect_verifications').execute());
  const audited = createAudited(database, now);
  const invitations = createInvitations(database, now);
  const throttle = createThrottle();
  const joining = createThrottle(joiningLimits);
  const passwords = createPasswordJudge();
  return {
    ...options,
    now,
    secret,
    signIn: createSignIn({ ...options, audited, secret }),
    people: createPeople(database),
    invitations,
    members: createMemberAdmin({ database, audited, invitations, passwords, throttle, joining, now }),
    once: createOnce(database, now),
    throttle,
    departures: createTries(mostDepartures.tries, mostDepartures.seconds),
    passwords,
    devices: createDevices({ secret, now, secureCookies: options.secureCookies }),
  };
}
