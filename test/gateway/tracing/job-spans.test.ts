import { expect } from 'chai';
import { until } from '../../until.js';
import { startTestGateway } from '../harness.js';
import { type SentSpan, startCollector } from './collector.js';

describe('spans of jobs', () => {
  it('are those of the request and of each item, which name the same job', async () => {
    const collector = await startCollector();
    const api = await startTestGateway({ HELPER_OTLP_URL: collector.url });
    const inputs = [{ a: 'private', b: 'other' }, { a: 'private' }];
    const { json } = await api.call('/jobs', { body: { service: 'text/diff-two-strings', inputs } });
    const { id } = json.data;
    await until(async () => (await api.call(`/jobs/${id}`)).json.data.done === 1);
    await until(() => api.log.filter(({ msg }) => msg === 'item').length === 2);
    await api.close();
    const spans = collector.spans();
    const of = (name: string) => spans.filter((span) => span.name === name);
    const childrenOf = ({ spanId }: SentSpan) => spans.filter((span) => span.parentSpanId === spanId);

    const [request] = of('POST /jobs');
    expect(request?.attributes['helper_gateway.job_id']).to.equal(id);
    expect(of('GET /jobs/:id')).not.to.deep.equal([]);
    const items = of('job-item');
    expect(items.map(({ attributes }) => attributes['helper_gateway.job_id'])).to.deep.equal([id, id]);
    const [done, failed] = [undefined, 'invalid_input'].map((code) =>
      items.find(({ attributes }) => attributes['helper_gateway.code'] === code),
    );
    expect(childrenOf(done as SentSpan).map(({ name }) => name)).to.include.members([
      'limit',
      'validate',
      'run-helper',
    ]);
    expect(childrenOf(failed as SentSpan).at(-1)).to.have.property('name', 'validate');
    const lines = api.log.filter(({ msg }) => msg === 'item').map(({ trace_id }) => trace_id);
    expect(lines).to.have.members(items.map(({ traceId }) => traceId));
    expect(collector.written()).not.to.include('private');
    await collector.close();
  });
});
