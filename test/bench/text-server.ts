/**
 * What the gateway's small text calls are compared with, each in a process of its own: `bare`, a Koa that answers an object and
 * does nothing else; `packages`, Koa with the router, body parser, validator and log that the gateway has to have; `peer`, a server
 * with the gateway's duties. Prints its url.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Router from '@koa/router';
import { Ajv } from 'ajv';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import { pino } from 'pino';
import { createPeer } from './text-peer.js';

const answer = { ok: true, data: { diff: '@@ -1,3 +1,3 @@\n one\n-two\n+2\n three' } };

function bare(): Koa {
  const app = new Koa();
  app.use((ctx) => {
    ctx.body = answer;
  });
  return app;
}

function packages(): Koa {
  const logger = pino();
  const text = { type: 'string', maxLength: 1_000_000 };
  const validate = new Ajv().compile({
    type: 'object',
    properties: { a: text, b: text, text, ak: text },
    additionalProperties: false,
  });
  const router = new Router();
  for (const path of ['/text/diff-two-strings', '/text/remove-stopwords']) {
    router.register(path, ['GET', 'POST'], (ctx) => {
      if (validate({ ...ctx.query, ...(ctx.request.body as object | undefined) })) ctx.body = answer;
    });
  }
  const app = new Koa();
  app.use(async (ctx, next) => {
    const start = performance.now();
    await next();
    logger.info({ method: ctx.method, path: ctx.path, status: ctx.status, ms: performance.now() - start });
  });
  app.use(koaBody());
  app.use(router.routes());
  return app;
}

const servers: Record<string, () => Pick<Koa, 'callback'>> = {
  bare,
  packages,
  peer: () => createPeer(process.argv[3] ?? ''),
};
const app = (servers[process.argv[2] ?? ''] ?? bare)();
const server = createServer(app.callback());
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
