import type { Logger } from 'pino';
import { openTogether } from './closers.js';
import type { Config } from './config.js';
import { answerProbes, createFront, createLifecycle } from './http/server.js';
import type { Gateway, GatewayOptions } from './server.js';

export type { Gateway } from './server.js';

/** Listens at once, then builds all else (`server.ts`). Throws, all closed again, where a part cannot start. */
export async function startGateway(
  config: Config,
  logger: Logger,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const { supervisor } = options;
  const lifecycle = createLifecycle();
  const api = createFront(
    lifecycle,
    { host: config.host, port: config.port, variable: 'PORT', inlets: supervisor?.inlets('api') },
    { probes: answerProbes },
  );
  const { connectHost: host, connectPort: port } = config;
  const sitePlace = { host, port, variable: 'CONNECT_PORT', inlets: supervisor?.inlets('site') };
  // Forms are small, and read as they come.
  const openSite = () => createFront(lifecycle, sitePlace, { requestTimeout: 60_000 });
  const site = supervisor && !supervisor.servesSite ? undefined : openSite();
  try {
    await api.listen();
    await site?.listen();
    return await openTogether(async (closers) => {
      const { compose } = await import('./server.js');
      return compose({ config, logger, closers, lifecycle, fronts: { api, site }, ...options });
    });
  } catch (error) {
    await Promise.all([api.close(5_000), site?.close(5_000)]);
    throw error;
  }
}
