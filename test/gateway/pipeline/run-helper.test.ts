import { performance } from 'node:perf_hooks';
import { expect } from 'chai';
import type { HelperContext } from '../../../gateway/helper.js';
import { runShort, type ShortFunctions, variantOf } from '../../../gateway/pipeline/run-helper.js';
import { PlainScope } from '../../pool/context/plain-scope.js';

const scope = new PlainScope({ service: 'text/some', request_id: 'some' });
const call = { scope, context: scope.ids as HelperContext };
const options = { timeoutMs: 1000, maxJsonBytes: 1000, logger: { error() {} } };

/** Computes for 5 ms. */
function compute(): Record<string, unknown> {
  for (const end = performance.now() + 5; performance.now() < end; );
  return {};
}

async function timeOf(functions: Pick<ShortFunctions, 'inline'> & Partial<ShortFunctions>) {
  const state = { taskMs: 0 };
  const helper = { handler: compute, ...functions };
  const run = async () => runShort(helper, { state, input: {} }, call, options);
  const answer = await run().catch(() => 'failed');
  return { answer, ms: state.taskMs };
}

describe('a short call on the main thread', () => {
  it('is counted with the time that it took, as a worker’s', async () => {
    const { answer, ms } = await timeOf({ inline: () => true });
    expect(answer).to.include({ kind: 'json' });
    expect(ms).to.be.at.least(5);
  });

  it('counts also where it fails', async () => {
    const handler = () => {
      throw new Error(JSON.stringify(compute()));
    };
    const { answer, ms } = await timeOf({ inline: () => true, handler });
    expect(answer).to.equal('failed');
    expect(ms).to.be.at.least(5);
  });

  it('is none, and costs nothing, where the helper says so', async () => {
    expect(await timeOf({ inline: () => false })).to.deep.equal({ answer: undefined, ms: 0 });
  });
});

describe('what makes a helper’s calls unlike in cost', () => {
  const variant = (format: object | undefined, given: Record<string, unknown>) => {
    const input = { type: 'object', properties: format === undefined ? {} : { format } };
    return variantOf({ declaration: { input } } as never)(given);
  };

  it('is the format, where it is one of a few', () => {
    expect(variant({ type: 'string', choice: { png: [], avif: [] } }, { format: 'avif' })).to.equal('avif');
    expect(variant({ enum: ['short', 'long'] }, { format: 'long' })).to.equal('long');
  });

  it('is nothing where callers could make up as many as they like', () => {
    expect(variant({ type: 'string' }, { format: 'anything' })).to.equal(undefined);
    expect(variant(undefined, { format: 'anything' })).to.equal(undefined);
    expect(variant({ enum: [1, 2] }, { format: 1 })).to.equal(undefined);
  });
});
