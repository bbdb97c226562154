import { expect } from 'chai';
import { rejection } from '../../gateway/source/raw-server.js';
import { PlainScope } from './plain-scope.js';

describe('a handler’s fetch', () => {
  const answer = { status: 200, headers: {}, bytes: new Uint8Array() };

  it('takes a url as text or as a URL, and two options', async () => {
    const scope = new PlainScope();
    scope.answer = async () => answer;
    expect(await scope.fetch('https://a.example/')).to.equal(answer);
    await scope.fetch(new URL('https://b.example/'), { accept: 'text/plain', maxBytes: 5 });
    expect(scope.requests).to.deep.equal([
      { url: 'https://a.example/' },
      { url: 'https://b.example/', accept: 'text/plain', maxBytes: 5 },
    ]);
  });

  for (const [what, url, options] of [
    ['another url', 5, undefined],
    ['options that are none', 'https://a.example/', 'GET'],
    ['another option', 'https://a.example/', { method: 'POST' }],
    ['a header that breaks its line', 'https://a.example/', { accept: 'a\r\nb: c' }],
    ['no bytes', 'https://a.example/', { maxBytes: 0 }],
  ] as const) {
    it(`says what it does not take: ${what}`, async () => {
      const scope = new PlainScope();
      expect(await rejection(scope.fetch(url as string, options as object))).to.be.instanceOf(TypeError);
      expect(scope.requests).to.deep.equal([]);
    });
  }

  it('lets eight go at a time, and the others in their order', async () => {
    const scope = new PlainScope();
    const ends: (() => void)[] = [];
    scope.answer = () => new Promise((resolve) => ends.push(() => resolve(answer)));
    const all = Array.from({ length: 10 }, (_, n) => scope.fetch(`https://a.example/${n}`));
    await new Promise(setImmediate);
    expect(scope.requests).to.have.length(8);
    ends[3]?.();
    await all[3];
    await new Promise(setImmediate);
    expect(scope.requests.at(-1)?.url).to.equal('https://a.example/8');
    expect(scope.requests).to.have.length(9);
  });

  it('is over when the call is', async () => {
    const scope = new PlainScope();
    scope.end();
    expect((await rejection(scope.fetch('https://a.example/'))).message).to.match(/call has ended/);
  });
});

describe('a call’s signal', () => {
  it('says why it was given up, also where that was before it was asked for', () => {
    const scope = new PlainScope();
    scope.abort('gone');
    scope.abort('deadline');
    expect(scope.signal.aborted).to.equal(true);
    expect(scope.signal.reason).to.have.property('name', 'AbortError');
  });

  it('stays as it is once the call has been answered', () => {
    const scope = new PlainScope();
    const { signal } = scope;
    scope.end();
    scope.abort('gone');
    expect(signal.aborted).to.equal(false);
  });
});
