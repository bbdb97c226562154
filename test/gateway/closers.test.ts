import { expect } from 'chai';
import { Closers } from '../../gateway/closers.js';

describe('closers', () => {
  it('close in the reverse order, all of them, and throw the first failure', async () => {
    const closed: string[] = [];
    const closers = new Closers();
    closers.add(() => closed.push('first'));
    closers.add(() => {
      throw new Error('second');
    });
    closers.add(() => closed.push('third'));
    const error = await closers.close().catch((thrown: Error) => thrown);
    expect((error as Error).message).to.equal('second');
    expect(closed).to.deep.equal(['third', 'first']);
  });

  it('close a part that closes itself', async () => {
    const closers = new Closers();
    let closed = 0;
    const part = closers.own({ close: () => (closed += 1) });
    await closers.close();
    expect([part.close(), closed]).to.deep.equal([2, 2]);
  });

  it('close at once what is opened too late', async () => {
    const closers = new Closers();
    await closers.close();
    await new Promise<void>((resolve) => closers.add(resolve));
    closers.add(() => Promise.reject(new Error('does not matter')));
  });
});
