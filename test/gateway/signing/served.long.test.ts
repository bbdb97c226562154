import { expect } from 'chai';
import { createSigningSecrets } from '../../../gateway/signing/signing-secrets.js';
import { skipWithout } from '../../needs.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { programs } from './programs.js';
import { master } from './signing.js';

/** What a cat says, in all that a query may not hold as it is. */
const text = `100% ~*'()! "a+b" & c=d/é#🦔;\\ $x <y>`;

describe('a gateway', function () {
  // Where Go has its own packages compiled first.
  this.timeout(300_000);
  let api: TestGateway;
  before(async () => {
    api = await startTestGateway({ HELPER_SIGNING_SECRET: master });
  });
  after(() => api.close());

  for (const program of programs) {
    it(`answers what ${program.language} has signed`, async function () {
      const missing = program.missing();
      if (missing) skipWithout(this, missing);
      const key_id = api.gateway.firstKey?.id ?? '';
      const secret = createSigningSecrets([master]).current(key_id, 1);
      const address = `${api.url}/text/remove-stopwords?${new URLSearchParams({ text })}&keep=&language=eng`;
      const expires = Math.floor(Date.now() / 1000) + 3600;
      const [url = '', late = ''] = program.signAll([
        { address, key_id, secret, expires },
        { address, key_id, secret, expires: expires - 7200 },
      ]);
      const answer = await (await fetch(url)).json();
      expect(answer).to.have.property('ok', true);
      const byKey = await api.call(address.slice(api.url.length));
      expect(answer.data).to.deep.equal(byKey.json.data);
      expect((await fetch(url.replace('100', '101'))).status).to.equal(403);
      expect((await (await fetch(late)).json()).error.code).to.equal('signature_expired');
    });
  }
});
