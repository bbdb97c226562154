import { expect } from 'chai';
import { GatewayError } from '../../../gateway/errors.js';
import { createPriceOf } from '../../../gateway/pipeline/price.js';
import { CallState } from '../../../gateway/pipeline/stage.js';
import type { Helper } from '../../../gateway/plugins/registry.js';
import { Costs } from '../../../pool/costs.js';

describe('the price of a call of which none has ended', () => {
  const kind = { service: 'media/crop', variant: 'png', size: 1_000 };
  const helpers = [{ shipped: true, declaration: { files: [{ kind: 'image' }] } } as unknown as Helper];
  const call = () => ({ state: new CallState('r') });

  it('is not waited for long where the trial of another waits for a thread', async () => {
    const priceOf = createPriceOf(new Costs(), () => new Promise(() => {}));
    void priceOf(call(), kind, helpers);
    expect(await priceOf(call(), kind, helpers)).to.deep.equal({ cpu_ms: null });
  }).timeout(4_000);

  it('is tried for again where the pool was full, and only once where the call fails', async () => {
    let trials = 0;
    const priceOf = createPriceOf(new Costs(), async () => {
      trials += 1;
      throw new GatewayError(trials === 1 ? 'busy' : 'too_large');
    });
    for (const _ of 'four') expect(await priceOf(call(), kind, helpers)).to.deep.equal({ cpu_ms: null });
    expect(trials).to.equal(2);
  });
});
