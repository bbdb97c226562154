import type { Config } from '../config.js';
import type { LiveRegistry } from '../helpers/live-registry.js';
import type { DocRoute } from './doc-route.js';
import { openApiRoute } from './openapi/route.js';
import { createPlayground } from './playground/routes.js';
import { referenceRoutes } from './reference/routes.js';

export interface DocOptions {
  registry: LiveRegistry;
  config: Config;
  /** The key-management site's address for somebody who came by this host name, if they can reach it. */
  keySite: (hostname: string) => string | undefined;
  /** Whether helpers are being written: faults of their files are shown then, and pages follow what changes. */
  isDev: boolean;
}

/** Every page and document about the helpers; none where they are switched off. */
export function docRoutes({ registry, config, keySite, isDev }: DocOptions): DocRoute[] {
  if (config.docs === 'off') return [];
  const playground = createPlayground({
    registry,
    limits: config,
    apiUrl: config.apiUrl,
    keySite,
    // Elsewhere they are for the operator's log: they name files of the machine.
    problems: () => (isDev ? registry.problems() : []),
    live: isDev,
  });
  return [...playground, openApiRoute(registry), ...referenceRoutes()];
}
