import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { pino } from 'pino';
import { observe } from '../../../gateway/pipeline/observe.js';
import type { CallContext, CallState } from '../../../gateway/pipeline/stage.js';
import type { Helper } from '../../../gateway/plugins/registry.js';

/** The status that usage is told of an answer of 200. */
async function recorded(answered: boolean, learn: (state: CallState) => void): Promise<number | undefined> {
  let status: number | undefined;
  const res = Object.assign(new EventEmitter(), { writableFinished: answered });
  const ctx = { res, req: {}, method: 'POST', path: '/mcp', status: 200, response: {}, set: () => undefined };
  const stage = observe({
    logger: pino({ level: 'silent' }),
    metrics: { observe: () => undefined },
    usage: {
      record: (record) => {
        status = record.status;
      },
    },
  });
  await stage(ctx as unknown as CallContext, async () => {
    const { state } = ctx as unknown as CallContext;
    state.helper = { id: 'a' } as Helper;
    state.caller = { tenant: { id: 't' }, keyId: 'k', scopes: null } as CallState['caller'] & object;
    learn(state);
  });
  res.emit('close');
  return status;
}

describe('usage', () => {
  it('counts what a call came to, where its answer has another status', async () => {
    const came = (state: CallState) => {
      state.cameTo = 429;
    };
    expect(await recorded(true, () => undefined)).to.equal(200);
    expect(await recorded(true, came)).to.equal(429);
    expect(await recorded(false, came)).to.equal(499);
  });
});
