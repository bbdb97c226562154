import { expect } from 'chai';
import { PlainScope } from './plain-scope.js';

const ids = { service: 'some', request_id: 'r' };

describe('a handler’s log', () => {
  it('leaves out a line that is none without its secret', () => {
    const scope = new PlainScope(ids, { secrets: ['true'] });
    scope.log.info({ a: true });
    expect(JSON.parse(scope.lines[0]?.text ?? '').msg).to.match(/^a line was left out/);
  });

  function linesOf(scope: PlainScope): Record<string, unknown>[] {
    return scope.lines.map(({ text }) => JSON.parse(text));
  }

  it('takes what pino takes', () => {
    const scope = new PlainScope(ids);
    scope.log.info('%d of %s', 1, 'two');
    scope.log.warn({ a: [1] }, 'b');
    scope.log.debug('not at this level');
    expect(linesOf(scope)).to.deep.equal([
      { level: 30, msg: '1 of two' },
      { level: 40, a: [1], msg: 'b' },
    ]);
    expect(scope.lines[0]).to.include(ids);
  });

  it('throws for nothing that it is given', () => {
    const scope = new PlainScope(ids);
    const self: Record<string, unknown> = { big: 1n, act() {} };
    self.self = self;
    scope.log.info(self);
    scope.log.info({
      get it() {
        throw new Error('broken');
      },
    });
    scope.log.info({ toJSON: () => 'text' }, 'said');
    expect(scope.lines).to.have.length(3);
    expect(scope.lines[1]?.text).to.include('cannot be written: broken');
  });

  it('cuts a long line', () => {
    const scope = new PlainScope(ids);
    scope.log.error({ a: 'x'.repeat(100_000) }, 'much');
    const [line] = linesOf(scope);
    expect(line?.level).to.equal(50);
    expect(line?.msg).to.match(/^a line of 100\d\d\d characters/);
    expect(String(line?.line)).to.have.length(16_384);
  });

  it('ends with a line that says so after a thousand', () => {
    const scope = new PlainScope(ids);
    for (let line = 0; line < 2000; line += 1) scope.log.info('more');
    expect(scope.lines).to.have.length(1001);
    expect(scope.lines.at(-1)?.text).to.include('more than 1000 lines');
  });

  it('holds no secret, however it is written', () => {
    const scope = new PlainScope(ids, { secrets: ['pass"word', 'abc'] });
    scope.log.info({ key: 'pass"word' }, 'with pass"word and abc');
    expect(scope.lines[0]?.text).to.equal('{"level":30,"key":"[secret]","msg":"with [secret] and abc"}');
  });
});
