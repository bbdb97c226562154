import { signUrl } from '../../gateway/signing/sign-url.js';
import { startTestGateway } from './harness.js';
import { master, signing } from './signing/signing.js';
import { expectRefusals } from './signing/tampered-calls.js';

describe('signed urls that are tampered with', () => {
  it('open nothing', async () => {
    const api = await startTestGateway({ HELPER_SIGNING_SECRET: master });
    try {
      const kid = api.gateway.firstKey?.id ?? '';
      const url = '/media/add-border?dryrun=1&color=dusty%20rose&width=7';
      const exp = Math.floor(Date.now() / 1000) + 3600;
      const right = signUrl({ url, kid, secret: signing.current(kid, 1), exp });
      await expectRefusals(api.url, right, { draws: 5000, seed: 8 });
    } finally {
      await api.close();
    }
  });
});
