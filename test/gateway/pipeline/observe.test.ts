import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { pino } from 'pino';
import { observe } from '../../../gateway/pipeline/observe.js';
import type { CallContext } from '../../../gateway/pipeline/stage.js';

function contextOf(answered: boolean) {
  const res = Object.assign(new EventEmitter(), { writableFinished: answered });
  const request = { req: {}, method: 'POST', path: '/mcp' };
  const given = { ...request, res, status: 200, response: {}, set: () => undefined };
  return { res, ctx: given as unknown as CallContext };
}

/** The status that usage counts for an answer of 200. */
async function recorded(answered: boolean, cameTo?: number): Promise<number | undefined> {
  let status: number | undefined;
  const { res, ctx } = contextOf(answered);
  const stage = observe({
    logger: pino({ level: 'silent' }),
    metrics: { observe: () => undefined },
    usage: { record: (record) => ({ status } = record) },
  });
  await stage(ctx, async () => {
    const caller = { tenant: { id: 't' }, keyId: 'k' };
    Object.assign(ctx.state, { helper: { id: 'a' }, caller, cameTo });
  });
  res.emit('close');
  return status;
}

describe('usage', () => {
  it('counts what a call has cost that ended after its client had gone', async () => {
    const costs: object[] = [];
    const { res, ctx } = contextOf(false);
    const stage = observe({
      logger: pino({ level: 'silent' }),
      metrics: { observe: ({ code, taskMs }) => void costs.push({ code, taskMs }) },
      usage: { record: ({ code, cpuMs }) => void costs.push({ code, cpuMs }) },
    });
    await stage(ctx, async () => {
      Object.assign(ctx.state, { helper: { id: 'a' }, caller: { tenant: { id: 't' }, keyId: 'k' } });
      res.emit('close');
      await Promise.resolve();
      Object.assign(ctx.state, { taskMs: 7, code: 'internal' });
    });
    expect(costs).to.deep.equal([
      { code: 'gone', taskMs: 7 },
      { code: 'gone', cpuMs: 7 },
    ]);
  });

  it('counts what a call came to, where its answer has another status', async () => {
    const statuses = [await recorded(true), await recorded(true, 429), await recorded(false, 429)];
    expect(statuses).to.deep.equal([200, 429, 499]);
  });
});
