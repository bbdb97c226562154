import { expect } from 'chai';
import { probeImage } from '../../../pool/image/header.js';
import { shareGateway, type TestGateway } from '../harness.js';
import { type BrowserLike, hiddenFields, signedIn } from '../site/browser-like.js';

describe('recipes/preview', () => {
  let api: TestGateway;
  let origin: string;
  let operator: BrowserLike;
  before(async () => {
    ({ api, origin } = await shareGateway((_, answer) => answer.writeHead(404).end()));
    operator = await signedIn(api.gateway.connectUrl, api.gateway.firstOperator as never);
  });
  const definition = {
    steps: [
      { use: 'media/resize', width: '{width}' },
      { use: 'media/rotate', angle: 90 },
    ],
    format: 'webp',
  };
  async function preview(fields: Record<string, string>, list = '/tenants/demo/recipes') {
    const { _token = '' } = hiddenFields((await operator.get(`${list}/new?definition=`)).html, list);
    const sent = { _token, new: '1', definition: JSON.stringify(definition), ...fields };
    return operator.post(`${list}/preview`, sent);
  }

  it('shows what steps that are not saved make of the sample', async () => {
    const { status, html } = await preview({ input: '{"width": 60}' });
    expect(status).to.equal(200);
    const [, data = ''] = /src="data:image\/webp;base64,([^"]+)"/.exec(html) ?? [];
    expect(probeImage(Buffer.from(data, 'base64'))).to.include({ format: 'webp', height: 60 });
    expect((await api.call('/recipes/preview?dryrun=true')).status).to.equal(404);
  });

  it('names what is wrong with the definition, the parameters and the picture', async () => {
    for (const [fields, said] of [
      [{}, '<code>width</code> is required'],
      [{ input: '{"width": 0}' }, '<code>width</code> must be'],
      [{ definition: '{"steps":[{"use":"text/none"}]}' }, '<code>steps.0.use</code> must be'],
      [{ input: '{"width": 60, "dryrun": true}', url: `${origin}/none.jpg` }, 'answered 404'],
      [{ input: '{"width": 60}', url: 'https://127.0.0.1/a.jpg' }, 'may not be fetched'],
    ] as const) {
      const { status, html } = await preview(fields);
      expect([status, html.includes(said)], `${said}: ${html.slice(-2500)}`).to.deep.equal([400, true]);
    }
  });

  it('is refused to a suspended tenant', async () => {
    await api.manage('/api/tenants', { name: 'held' });
    await api.manage('/api/tenants/held', { state: 'suspended' }, 'PATCH');
    const { html } = await preview({ input: '{"width": 60}' }, '/tenants/held/recipes');
    expect(html).to.include('This tenant is suspended');
  });

  it('counts towards the quota of the tenant', async () => {
    await api.manage('/api/tenants', { name: 'previews' });
    await api.manage('/api/tenants/previews', { monthly_quota: 1 }, 'PATCH');
    const own = '/tenants/previews/recipes';
    expect((await preview({ input: '{"width": 60}' }, own)).status).to.equal(200);
    const refused = await preview({ input: '{"width": 60}' }, own);
    expect([refused.status, refused.html.includes('monthly quota of 1 call is used up')]).to.deep.equal([
      400,
      true,
    ]);
  });
});
