import type { PageRoute } from './page.js';
import { accountPages } from './pages/account.js';
import { allKeysPages } from './pages/all-keys.js';
import { auditPages } from './pages/audit.js';
import { joinPages } from './pages/join.js';
import { keyPages } from './pages/key.js';
import { limitsPages } from './pages/limits.js';
import { memberPages } from './pages/members.js';
import { overviewPages } from './pages/overview.js';
import { signInPages } from './pages/sign-in.js';
import { tenantKeysPages } from './pages/tenant-keys.js';
import { tenantsPages } from './pages/tenants.js';
import { usagePages } from './pages/usage.js';

/** Every page and form of the site, each with who may have it. A test walks this table for every role. */
export const pageRoutes: readonly PageRoute[] = [
  ...signInPages,
  ...joinPages,
  ...accountPages,
  ...overviewPages,
  ...tenantsPages,
  ...tenantKeysPages,
  ...keyPages,
  ...usagePages,
  ...limitsPages,
  ...memberPages,
  ...auditPages,
  ...allKeysPages,
];
