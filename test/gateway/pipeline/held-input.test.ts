import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import Koa from 'koa';
import { createInboundBudget } from '../../../gateway/http/inbound-budget.js';
import { readInput } from '../../../gateway/pipeline/read-input.js';
import { route } from '../../../gateway/pipeline/route.js';
import {
  type CallContext,
  type Caller,
  CallState,
  from,
  type HttpCall,
  type Stage,
} from '../../../gateway/pipeline/stage.js';
import { validate } from '../../../gateway/pipeline/validate.js';
import type { Helper } from '../../../gateway/plugins/registry.js';
import { type Answer, jsonAnswer } from '../../../pool/answer.js';
import type { Ticket } from '../../../pool/pool.js';
import { describeDeclaration } from '../../../schemas/declared-helper.js';
import type { QueryText } from '../../../schemas/input/parse.js';
import { heldBeyond, heldMemory, until } from '../../needs.js';

const helper = {
  id: 'text/wait',
  declaration: describeDeclaration({ summary: 'Waits.', input: {} }),
  parameters: { properties: [], files: [], check: (input: object) => ({ input, problems: [] }) },
} as unknown as Helper;

/** Stands for the stages that find the tenant and its slot. */
const admitted: Stage<HttpCall, { caller: Caller; query: QueryText; ticket: () => Ticket }> = (_, next) =>
  next({
    caller: { tenant: { id: 't' } } as Caller,
    query: { values: new Map(), problems: [] },
    ticket: () => expect.fail('it is light'),
  });

describe('a call that waits for a slot', () => {
  it('holds what it was sent once: as input, no longer as text', async () => {
    const calls = 40;
    const body = JSON.stringify({ text: 'x'.repeat(60_000) });
    const waiting: ((answer: Answer) => void)[] = [];
    const bytes = 2 * calls * body.length;
    const inboundBudget = createInboundBudget({ most: 2 * calls, bytes, largest: bytes });
    const answer = from<HttpCall>()
      .through(admitted)
      .through(readInput(helper, inboundBudget, { maxTextBytes: 100_000, maxFileBytes: 0 }))
      .through(validate(helper))
      .to(() => new Promise<Answer>((resolve) => waiting.push(resolve)));
    const app = new Koa<CallState>();
    app.use(async (ctx) => {
      ctx.state = new CallState('id');
      await route(answer, helper)(ctx as CallContext, async () => undefined);
      ctx.status = 204;
    });
    const server = createServer(app.callback()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

    const before = heldMemory();
    const headers = { 'content-type': 'application/json' };
    // Not `fetch`, which holds on to what it sent.
    const answers = Array.from({ length: calls }, () => {
      const sent = request(url, { method: 'POST', headers, agent: false }).end(body);
      return once(sent, 'response') as Promise<[IncomingMessage]>;
    });
    await until(() => waiting.length === calls);
    const most = (calls * body.length) / 2;
    const held = await heldBeyond(before, most);

    for (const end of waiting) end(jsonAnswer({}));
    for (const [{ statusCode }] of await Promise.all(answers)) expect(statusCode).to.equal(204);
    inboundBudget.close();
    server.close();
    expect(held).to.be.below(most);
  });
});
