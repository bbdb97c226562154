import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { examplePicture } from '../../gateway/plugins/paths.js';
import { until } from '../needs.js';
import { type Answer, operatorToken, startTestGateway, type TestGateway } from './harness.js';
import { modernAgent } from './mcp/agents.js';

const text = '/text/remove-stopwords?text=the+house';

describe('what calls cost', () => {
  let api: TestGateway;
  let picture: Buffer;
  before(async function () {
    this.timeout(60_000);
    picture = await readFile(examplePicture);
    api = await startTestGateway({ HELPER_OPERATOR_TOKEN: operatorToken, HELPER_CORS_ORIGINS: '*' });
  });
  after(() => api?.close());

  function upload(fields: Record<string, string> = {}): FormData {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    form.set('file', new Blob([new Uint8Array(picture)]));
    return form;
  }

  const costOf = ({ headers }: Answer) => Number(headers.get('x-cost-ms') ?? Number.NaN);

  async function keyWith(name: string, limits: object): Promise<string> {
    await api.manage('/api/tenants', { name });
    await api.manage(`/api/tenants/${name}`, { ...limits }, 'PATCH');
    return (await api.manage(`/api/tenants/${name}/keys`)).key;
  }

  it('is said with every answer of a helper, and nothing for a cached one and a 304', async () => {
    const made = await api.call('/media/add-border', { body: upload() });
    expect(costOf(made)).to.be.above(0.5);
    const cached = await api.call('/media/add-border', { body: upload() });
    expect([cached.headers.get('x-cache'), cached.headers.get('x-cost-ms')]).to.deep.equal(['hit', '0']);
    expect(costOf(await api.call(text))).to.be.within(0.001, 1_000);
    for (const refused of [api.call(text, { key: 'hg_no' }), api.call('/text/remove-stopwords')])
      expect((await refused).headers.get('x-cost-ms')).to.equal('0');
    expect((await api.call('/jobs')).headers.get('x-cost-ms')).to.equal(null);
    const exposed = (await api.call(text, { headers: { origin: 'https://a.example' } })).headers;
    expect(exposed.get('access-control-expose-headers')?.split(',')).to.include('x-cost-ms');
  });

  it('is paid by one of the calls that wait for the same picture', async () => {
    const body = () => upload({ width: '77' });
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => api.call('/media/add-border', { body: body() })),
    );
    const paid = answers.filter((answer) => costOf(answer) > 0);
    expect(paid.map(({ headers }) => headers.get('x-cache'))).to.deep.equal(['miss']);
  });

  it('is bounded by a budget, of which each answer says what is left, and charged as it is metered', async () => {
    const key = await keyWith('budgeted', { monthly_cpu_ms: 40 });
    let spent = 0;
    let last: Answer | undefined;
    for (let width = 1; width < 100 && last?.status !== 429; width += 1) {
      last = await api.call('/media/add-border', {
        key,
        body: upload({ width: String(width), format: 'webp' }),
      });
      spent += costOf(last);
      const [, left] = /"cpu";r=(\d+)/.exec(last.headers.get('ratelimit') ?? '') ?? [];
      expect(Number(left)).to.be.closeTo(Math.max(0, 40 - spent), 1);
    }
    expect(last?.json.error.code).to.equal('quota_exceeded');
    expect(last?.json.error.message).to.match(
      /^The tenant's monthly CPU budget of 40 ms is used up; the next month/,
    );
    const metered = await until(async () => {
      const headers = { authorization: `Bearer ${operatorToken}` };
      const answer = await fetch(`${api.gateway.connectUrl}/api/tenants/budgeted/usage`, { headers });
      const { usage } = ((await answer.json()) as { data: { usage: { cpu_ms: number }[] } }).data;
      const sum = usage.reduce((ms, { cpu_ms }) => ms + cpu_ms, 0);
      return sum > spent - 1 && sum;
    });
    expect(spent).to.be.above(40).and.closeTo(metered, 0.1);
    // An item waits for nothing that comes back this month.
    const service = 'text/remove-stopwords';
    const job = await api.call('/jobs', { key, body: { service, inputs: [{ text: 'a' }] } });
    expect([job.status, job.json.error.code]).to.deep.equal([429, 'quota_exceeded']);
  });

  describe('in a dry run', () => {
    const dry = async (path: string, body?: FormData) =>
      (await api.call(path, body && { body })).json.meta.cost;

    const steps = JSON.stringify([
      { use: 'media/crop', width: 9 },
      { use: 'media/rotate', angle: 9 },
    ]);

    it('is known of each shipped helper and format, also before its first call', async function () {
      this.timeout(60_000);
      const formats = ['png', 'jpg', 'webp', 'avif', 'same'];
      const paths = formats.map((format) => `/media/resize?width=9&dryrun=1&format=${format}`);
      const pipeline = `/pipeline?dryrun=1&steps=${encodeURIComponent(steps)}`;
      for (const path of ['/media/info?dryrun=1', ...paths, pipeline]) {
        const { p50, p95 } = (await dry(path)).cpu_ms;
        expect(p50, path).to.be.above(0);
        expect(p95).to.be.at.least(p50);
      }
      // These run their examples in the background once the gateway is ready.
      for (const path of [`${text}&dryrun=1`, '/text/diff-two-strings?a=1&b=2&dryrun=1'])
        await until(async () => (await dry(path)).cpu_ms ?? undefined);
    });

    it('goes by the picture that comes with it', async () => {
      await api.call('/media/rotate', { body: upload({ angle: '9', format: 'jpg' }) });
      const own = await dry('/media/rotate', upload({ angle: '9', format: 'jpg', dryrun: '1' }));
      expect(own.cpu_ms).to.have.keys('p50', 'p95');
      expect((await api.call(text)).json.meta).not.to.have.property('cost');
    });

    it('is among what a tool and an item of a job answer', async () => {
      const agent = await modernAgent(api.url, api.key);
      const named = { name: 'text_remove-stopwords', arguments: { text: 'a', dryrun: true } };
      const result = (await agent.callTool(named)) as { _meta?: { cost?: object } };
      expect(result._meta?.cost).to.have.keys('cpu_ms');
      const body = { service: 'text/remove-stopwords', inputs: [named.arguments] };
      const { id } = (await api.call('/jobs', { body })).json.data;
      const item = await until(async () => {
        const answer = await api.call(`/jobs/${id}/items/0`);
        return answer.status === 200 && answer.json;
      });
      expect(item.meta.cost).to.have.keys('cpu_ms');
    });
  });
});
