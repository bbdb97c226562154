import { expect } from 'chai';
import { createPasswordChecker } from '../../../../gateway/site/accounts/passwords.js';
import { until } from '../../../needs.js';

const ada = ['ada.lovelace@engines.example', 'Ada Lovelace', 'helper gateway operator'];

describe('site/auth/password-judge', () => {
  const judge = createPasswordChecker();

  for (const password of [
    'aaaaaaaaaaaa',
    'password1234',
    'P@ssw0rd1234',
    'qwertyuiop12',
    '123456789012',
    'abcdefghijkl',
    'letmeinletmein',
    'internationalization',
    'password password',
    'ada.lovelace1',
    'lovelace2026!',
    'engines.example',
    'helper-gateway',
    'operator1234',
  ]) {
    it(`finds ${password} easy to guess`, async () => {
      expect(await judge.isGuessable(password, ada)).to.equal(true);
    });
  }

  for (const password of [
    'correct horse battery',
    'a new password of mine',
    'mh4kq-7wzpa-x2rfd-9tnve',
    'vJ8#qLx2!pTz',
    'пять разных русских слов',
    '五つの異なる日本語の言葉です',
  ]) {
    it(`takes ${password}`, async () => {
      expect(await judge.isGuessable(password, ada)).to.equal(false);
    });
  }

  it('leaves the event loop alone meanwhile, whatever it is given', async () => {
    for (const costly of ['p455w0rd', '@4(1!$0+7', 'aeiost@4310!|$5+7', '1/1/11']) {
      // A machine that stalls may give this thread none of that time: it is asked again.
      const turns = await until(async () => {
        let turns = 0;
        const count = setInterval(() => {
          turns += 1;
        }, 1);
        await judge.isGuessable(costly.repeat(20).slice(0, 128), Array(50).fill(costly.repeat(500)));
        clearInterval(count);
        return turns > 1 && turns;
      });
      expect(turns, costly).to.be.above(1);
    }
  });

  it('refuses more passwords than it will soon have judged, and goes on with the others', async () => {
    const asked = Array.from({ length: 40 }, () => judge.isGuessable('correct horse battery', ada));
    const settled = await Promise.allSettled(asked);
    const refused = settled.filter((one) => one.status === 'rejected').map(({ reason }) => reason.code);
    expect(refused).to.include('busy');
    expect(new Set(refused)).to.have.property('size', 1);
    expect(settled.length - refused.length).to.be.at.least(16);
  });
});
