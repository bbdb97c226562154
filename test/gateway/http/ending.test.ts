import { expect } from 'chai';
import { Ending } from '../../../gateway/http/ending.js';

describe('an ending', () => {
  it('is told to who listens, with its reason, and at once where it has come', () => {
    const told: unknown[] = [];
    const ending = new Ending();
    ending.listen((reason) => told.push(reason));
    expect(ending.ended).to.equal(false);
    ending.end('slow');
    expect(ending.ended).to.equal(true);
    ending.listen((reason) => told.push(`again ${reason}`));
    expect(told).to.deep.equal(['slow', 'again slow']);
  });

  it('is told to nobody who has stopped to listen', () => {
    const ending = new Ending();
    ending.listen(() => expect.fail());
    ending.unlisten();
    ending.end();
  });

  it('aborts its signal, whether that was asked for before it or after', () => {
    const ending = new Ending();
    const before = ending.signal;
    expect(before.aborted).to.equal(false);
    ending.end('slow');
    expect([before.aborted, before.reason]).to.deep.equal([true, 'slow']);
    const late = new Ending();
    late.end('gone');
    expect([late.signal.aborted, late.signal.reason]).to.deep.equal([true, 'gone']);
  });
});
