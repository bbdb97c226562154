import type { Logger } from 'pino';
import { openTogether } from './closers.js';
import type { Config } from './config.js';
import { answerProbes, createFront, createLifecycle } from './http/server.js';
import type { Gateway, GatewayOptions } from './server.js';

export type { Gateway } from './server.js';

/**
 * Starts a gateway: listens at once, and loads and builds everything else afterwards (`server.ts`). Throws, with everything closed again,
 * where a part cannot start; the message says what to change.
 */
export async function startGateway(
  config: Config,
  logger: Logger,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const { member } = options;
  const lifecycle = createLifecycle();
  const api = createFront(
    lifecycle,
    { host: config.host, port: config.port, variable: 'PORT', inlets: member?.door('api') },
    { probes: answerProbes },
  );
  const site =
    member && !member.servesSite
      ? undefined
      : createFront(
          lifecycle,
          {
            host: config.connectHost,
            port: config.connectPort,
            variable: 'CONNECT_PORT',
            inlets: member?.door('site'),
          },
          // Forms are small, and read as they come.
          { requestTimeout: 60_000 },
        );
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
