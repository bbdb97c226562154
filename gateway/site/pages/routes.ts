import type { PageRoute } from '../route.js';
import { accountPages } from './account.js';
import { allKeysPages } from './all-keys.js';
import { auditPages } from './audit.js';
import { jobPages } from './job.js';
import { jobsPages } from './jobs.js';
import { joinPages } from './join.js';
import { keyPages } from './key.js';
import { limitsPages } from './limits.js';
import { memberPages } from './members.js';
import { overviewPages } from './overview.js';
import { providerPages } from './provider.js';
import { signAddressPages } from './sign-address.js';
import { signInPages } from './sign-in.js';
import { signingSecretPages } from './signing-secret.js';
import { tenantKeysPages } from './tenant-keys.js';
import { tenantsPages } from './tenants.js';
import { usagePages } from './usage.js';
import { webhookPages } from './webhooks.js';

/** Every page and form of the site, each with who may have it. A test walks this table for every role. */
export const pageRoutes: readonly PageRoute[] = [
  ...signInPages,
  ...providerPages,
  ...joinPages,
  ...accountPages,
  ...overviewPages,
  ...tenantsPages,
  ...tenantKeysPages,
  ...keyPages,
  ...signAddressPages,
  ...signingSecretPages,
  ...usagePages,
  ...jobsPages,
  ...jobPages,
  ...webhookPages,
  ...limitsPages,
  ...memberPages,
  ...auditPages,
  ...allKeysPages,
];
