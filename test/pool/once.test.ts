import { expect } from 'chai';
import { once } from '../../pool/once.js';

describe('once', () => {
  it('makes a thing for all who need it, and anew only where that has failed', async () => {
    let tries = 0;
    const get = once(async () => {
      tries += 1;
      if (tries === 1) throw new Error('too many open files');
      return { tries };
    });
    const [first, beside] = await Promise.allSettled([get(), get()]);
    expect([first?.status, beside?.status, tries]).to.deep.equal(['rejected', 'rejected', 1]);
    const [made, again] = await Promise.all([get(), get()]);
    expect(made).to.deep.equal({ tries: 2 });
    expect(again).to.equal(made);
    expect(await get()).to.equal(made);
  });
});
