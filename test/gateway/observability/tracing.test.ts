import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { expect } from 'chai';
import { createTracing, type Tracing, tracesUrl } from '../../../gateway/observability/tracing.js';
import { fixture } from '../../fixtures.js';
import { until } from '../../needs.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { type Collector, type SentSpan, startCollector } from './collector.js';

describe('tracing', () => {
  let memory: InMemorySpanExporter;
  let tracing: Tracing;

  beforeEach(() => {
    memory = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] });
    tracing = createTracing({ tracer: provider.getTracer('test'), close: () => provider.shutdown() });
  });

  function ended(): string[] {
    const all = memory.getFinishedSpans();
    const names = new Map(all.map((span) => [span.spanContext().spanId, span.name]));
    return all.map(
      ({ name, parentSpanContext }) => `${names.get(parentSpanContext?.spanId ?? '') ?? ''} > ${name}`,
    );
  }

  it('has stages follow one another, and parts in the stage that is open', () => {
    const call = tracing.request({}, 'GET');
    const first = call.stage('first');
    call.part('of first').end();
    first.end();
    const second = call.stage('second');
    call.stage('within second').end();
    call.part('of second').end();
    second.end();
    call.route = '/a/b';
    call.end({});
    expect(ended()).to.deep.equal([
      'first > of first',
      'GET /a/b > first',
      'second > within second',
      'second > of second',
      'GET /a/b > second',
      ' > GET /a/b',
    ]);
  });

  it('of an item of a job names the job, and of its end the code', () => {
    const item = tracing.item({ service: 'a/b', tenant: 't', job: 'job_1', index: 3, attempt: 2 });
    item.stage('limit').end({ code: 'quota_exceeded', message: 'private' });
    item.end({ code: 'quota_exceeded' });
    const [stage, root] = memory.getFinishedSpans();
    expect(stage?.attributes).to.deep.equal({ 'error.type': 'quota_exceeded' });
    expect(root).to.have.property('name', 'job-item');
    expect(root?.attributes).to.deep.equal({
      'helper_gateway.service': 'a/b',
      'helper_gateway.tenant': 't',
      'helper_gateway.job_id': 'job_1',
      'helper_gateway.item': 3,
      'helper_gateway.attempt': 2,
      'helper_gateway.code': 'quota_exceeded',
    });
    expect(trace.getActiveSpan()).to.equal(undefined);
  });

  it('has of what is thrown its code alone, and internal of what has none', () => {
    const call = tracing.request({}, 'GET');
    call.stage('one').end(new Error('private'));
    call.stage('other').end(Object.assign(new Error('private'), { code: 'not a code' }));
    for (const { attributes } of memory.getFinishedSpans()) {
      expect(attributes).to.deep.equal({ 'error.type': 'internal' });
    }
  });

  it('passes on that a caller records nothing, and makes no spans then', () => {
    const ids = '0af7651916cd43dd8448eb211c80319c';
    const call = tracing.request({ traceparent: `00-${ids}-b7ad6b7169203331-00` }, 'GET');
    expect(call.id).to.equal(ids);
    const part = call.part('download', { outgoing: true });
    expect(part.headers().traceparent).to.match(new RegExp(`^00-${ids}-[0-9a-f]{16}-00$`));
    part.end();
    call.end({});
    expect(ended()).to.deep.equal([]);
  });

  for (const traceparent of [
    '',
    'x',
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `ff-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
  ]) {
    it(`takes ${JSON.stringify(traceparent)} for no trace`, () => {
      const call = tracing.request({ traceparent, tracestate: '=,=' }, 'GET');
      expect(call.id)
        .to.match(/^[0-9a-f]{32}$/)
        .and.not.match(/^(0{32}|a{32})$/);
      call.end({});
      expect(memory.getFinishedSpans()[0]?.parentSpanContext).to.equal(undefined);
    });
  }

  it('goes to the path of OTLP where none is named', () => {
    for (const url of ['http://collector:4318', 'http://collector:4318/']) {
      expect(tracesUrl(url)).to.equal('http://collector:4318/v1/traces');
    }
    expect(tracesUrl('https://a.example/otlp/x?y=1')).to.equal('https://a.example/otlp/x?y=1');
  });
});

const traceId = '0af7651916cd43dd8448eb211c80319c';
const caller = 'b7ad6b7169203331';
const parent = `00-${traceId}-${caller}-01`;
const unsampled = '00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';

/** One gateway, whose spans are all there once it has closed. */
describe('spans of calls and jobs', () => {
  let collector: Collector;
  let api: TestGateway;
  let images: Server;
  let asked: IncomingHttpHeaders[];
  let spans: SentSpan[];
  let job: string;
  let ids: Record<'diff' | 'badKey' | 'picture' | 'invalid' | 'followed' | 'malformed', string>;

  before(async () => {
    asked = [];
    collector = await startCollector();
    images = createServer((req, res) => {
      asked.push(req.headers);
      res.setHeader('content-type', 'text/plain').setHeader('cache-control', 'no-store').end('some text');
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => images.once('listening', resolve));
    const origin = `http://127.0.0.1:${(images.address() as AddressInfo).port}`;
    api = await startTestGateway({
      HELPER_OTLP_URL: collector.url,
      HELPER_PLUGINS: fixture('plugins/files'),
      HELPER_SOURCE_ORIGINS: origin,
    });
    const id = async (path: string, init: Parameters<TestGateway['call']>[1] = {}) =>
      (await api.call(path, init)).headers.get('x-request-id') ?? '';
    const diff = '/text/diff-two-strings?a=private&b=other';
    ids = {
      diff: await id(diff),
      badKey: await id(diff, { key: 'hg_nonsense' }),
      invalid: await id('/text/diff-two-strings?nonsense=private'),
      picture: await id(`/reads?any=${encodeURIComponent(`${origin}/private.txt`)}`, {
        headers: { traceparent: parent, tracestate: 'vendor=1' },
      }),
      followed: await id(diff, { headers: { traceparent: parent, tracestate: 'vendor=1' } }),
      malformed: await id(diff, { headers: { traceparent: `00-${'0'.repeat(32)}-${caller}-01` } }),
    };
    await id(diff, { headers: { traceparent: unsampled } });
    await id('/healthz', { key: null });
    await id('/text/private?private=1');
    const inputs = [{ a: 'private', b: 'other' }, { a: 'private' }];
    const { json } = await api.call('/jobs', { body: { service: 'text/diff-two-strings', inputs } });
    job = json.data.id;
    await until(async () => (await api.call(`/jobs/${job}`)).json.data.done === 1);
    await until(() => api.log.filter(({ msg }) => msg === 'item').length === 2);
    await api.close();
    spans = collector.spans();
  });

  after(async () => {
    await collector.close();
    images.close();
  });

  const rootOf = (id: string) =>
    spans.find(({ attributes }) => attributes['helper_gateway.request_id'] === id) as SentSpan;
  const childrenOf = ({ spanId }: SentSpan) => spans.filter((span) => span.parentSpanId === spanId);
  const named = (name: string) => spans.filter((span) => span.name === name);
  const namesOf = (list: SentSpan[]) => list.map(({ name }) => name);

  it('are named as the stages, one after another in the call’s own', () => {
    const root = rootOf(ids.diff);
    expect(root).to.include({ name: 'GET /text/diff-two-strings', kind: 2 });
    expect(root.parentSpanId ?? '').to.equal('');
    expect(root.attributes).to.include({
      'http.request.method': 'GET',
      'http.route': '/text/diff-two-strings',
      'http.response.status_code': 200,
      'helper_gateway.service': 'text/diff-two-strings',
    });
    const stages = childrenOf(root);
    const names = ['authenticate', 'limit', 'admit', 'read-input', 'validate', 'run-helper'];
    expect(namesOf(stages)).to.deep.equal(names);
    for (const [at, { endTimeUnixNano, traceId }] of stages.entries()) {
      expect(traceId).to.equal(root.traceId);
      const next = stages[at + 1];
      if (next) expect(BigInt(endTimeUnixNano) <= BigInt(next.startTimeUnixNano)).to.equal(true);
    }
  });

  it('of a call with a file show the download and the task, each within its stage', () => {
    const stages = childrenOf(rootOf(ids.picture));
    expect(namesOf(stages).slice(-2)).to.deep.equal(['fetch-source', 'reuse']);
    const [download] = childrenOf(stages.find(({ name }) => name === 'fetch-source') as SentSpan);
    expect(download).to.include({ name: 'download', kind: 3 });
    expect(download?.attributes['http.response.status_code']).to.equal(200);
    const [run] = childrenOf(stages.at(-1) as SentSpan);
    expect(run?.name).to.equal('run-helper');
    const [task] = childrenOf(run as SentSpan);
    expect(task?.name).to.equal('pool-call');
    expect(task?.attributes).to.include.keys('helper_gateway.wait_ms', 'helper_gateway.task_ms');
  });

  it('name the download to an origin of the operator’s own', () => {
    const { spanId } = named('download')[0] as SentSpan;
    expect(asked).to.have.length(1);
    expect(asked[0]).to.include({ traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'vendor=1' });
  });

  it('end where a call fails, with its code in the stage, as an error of the caller', () => {
    const refused = rootOf(ids.badKey);
    expect(refused.attributes).to.include({
      'http.response.status_code': 401,
      'helper_gateway.code': 'key_invalid',
    });
    expect(refused.status.code).to.equal(0);
    const [stage, ...others] = childrenOf(refused);
    expect(others).to.deep.equal([]);
    expect(stage).to.deep.include({ name: 'authenticate', status: { code: 2 } });
    expect(stage?.attributes).to.deep.equal({ 'error.type': 'key_invalid' });
    expect(namesOf(childrenOf(rootOf(ids.invalid))).at(-1)).to.equal('validate');
  });

  it('continue the trace that a call came with, and begin one where what came is none', () => {
    expect(rootOf(ids.followed)).to.include({ traceId, parentSpanId: caller, traceState: 'vendor=1' });
    const root = rootOf(ids.malformed);
    expect(root.parentSpanId ?? '').to.equal('');
    expect(root.traceId).to.match(/^(?!0{32})[0-9a-f]{32}$/);
  });

  it('are not sent of what its caller does not record, nor of balancers’ probes', () => {
    expect(spans.filter(({ traceId }) => traceId === unsampled.slice(3, 35))).to.deep.equal([]);
    const roots = spans.filter(({ parentSpanId = '' }) => parentSpanId === '' || parentSpanId === caller);
    expect(roots.filter(({ name }) => !name.includes('job'))).to.have.length(7);
  });

  it('of jobs are those of the request and of each item, which name the same job', () => {
    const [request] = named('POST /jobs');
    expect(request?.attributes['helper_gateway.job_id']).to.equal(job);
    expect(named('GET /jobs/:id')).not.to.deep.equal([]);
    const items = named('job-item');
    expect(items.map(({ attributes }) => attributes['helper_gateway.job_id'])).to.deep.equal([job, job]);
    const [done, failed] = [undefined, 'invalid_input'].map((code) =>
      items.find(({ attributes }) => attributes['helper_gateway.code'] === code),
    );
    expect(namesOf(childrenOf(done as SentSpan))).to.include.members(['limit', 'validate', 'run-helper']);
    expect(namesOf(childrenOf(failed as SentSpan)).at(-1)).to.equal('validate');
    const lines = api.log.filter(({ msg }) => msg === 'item').map(({ trace_id }) => trace_id);
    expect(lines).to.have.members(items.map(({ traceId }) => traceId));
  });

  it('are found by the line of the log, and hold neither key nor query nor input', () => {
    const line = api.log.find(({ request_id }) => request_id === ids.diff);
    expect(line?.trace_id).to.equal(rootOf(ids.diff).traceId);
    for (const word of ['private', 'nonsense', api.key, 'ak=']) {
      expect(collector.written()).not.to.include(word);
    }
  });

  it('say which service they are of, and go where OTLP says', () => {
    expect(collector.resource()).to.include({ 'service.name': 'helper-gateway' });
    expect(new Set(collector.paths)).to.deep.equal(new Set(['/v1/traces']));
  });
});
