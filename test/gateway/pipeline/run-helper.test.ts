import { performance } from 'node:perf_hooks';
import { expect } from 'chai';
import type { HelperContext } from '../../../gateway/helper.js';
import { variantOf } from '../../../gateway/pipeline/price.js';
import { runShort } from '../../../gateway/pipeline/run-helper.js';
import { PlainScope } from '../../pool/context/plain-scope.js';

/** Computes for 5 ms. */
function compute(): Record<string, unknown> {
  for (const end = performance.now() + 5; performance.now() < end; );
  return {};
}

describe('a short call on the main thread', () => {
  const scope = new PlainScope({ service: 'text/some', request_id: 'some' });
  const its = { scope, context: scope.ids as HelperContext, kind: { service: 'text/some' } };
  const options = { timeoutMs: 1000, maxJsonBytes: 1000, logger: { error() {} } };

  async function run(isShort: boolean, handler = compute) {
    const state = { taskMs: 0 };
    const call = { state, input: {} };
    const running = runShort({ handler, inline: () => isShort }, call, its, options);
    return { answer: await running.catch(() => 'failed'), ms: state.taskMs };
  }

  it('counts the time that it took, as a worker’s, also where it fails', async () => {
    const done = await run(true);
    expect(done.answer).to.include({ kind: 'json' });
    const failed = await run(true, () => {
      throw new Error(JSON.stringify(compute()));
    });
    expect(failed.answer).to.equal('failed');
    for (const { ms } of [done, failed]) expect(ms).to.be.at.least(5);
  });

  it('is none, and costs nothing, where the helper says so', async () => {
    expect(await run(false)).to.deep.equal({ answer: undefined, ms: 0 });
  });
});

describe('the variant of a call, by which its cost is estimated', () => {
  const variant = (format: object | undefined, given: unknown) => {
    const input = { type: 'object', properties: format === undefined ? {} : { format } };
    return variantOf({ declaration: { input } } as never)({ format: given });
  };

  it('is the format, where it is one of a few, and no more than callers could make up', () => {
    expect(variant({ type: 'string', choice: { png: [], avif: [] } }, 'avif')).to.equal('avif');
    expect(variant({ enum: ['short', 'long'] }, 'long')).to.equal('long');
    for (const format of [{ type: 'string' }, undefined])
      expect(variant(format, 'anything')).to.equal(undefined);
    expect(variant({ enum: [1, 2] }, 1)).to.equal(undefined);
  });
});
