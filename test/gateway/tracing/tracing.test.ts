import { trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { expect } from 'chai';
import { createTracing } from '../../../gateway/tracing/create-tracing.js';
import { tracesUrl } from '../../../gateway/tracing/otlp.js';
import type { Tracing } from '../../../gateway/tracing/tracing.js';

describe('tracing', () => {
  let memory: InMemorySpanExporter;
  let tracing: Tracing;

  beforeEach(() => {
    memory = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] });
    tracing = createTracing({ tracer: provider.getTracer('test'), close: () => provider.shutdown() });
  });

  const ended = () =>
    memory.getFinishedSpans().map(({ name, parentSpanContext }) => {
      const parent = memory
        .getFinishedSpans()
        .find((span) => span.spanContext().spanId === parentSpanContext?.spanId);
      return `${parent?.name ?? ''} > ${name}`;
    });

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

  it('tells of what is thrown its code alone, and of what has none that it is a fault', () => {
    const call = tracing.request({}, 'GET');
    call.stage('one').end(new Error('private'));
    call.stage('other').end(Object.assign(new Error('private'), { code: 'not a code' }));
    expect(memory.getFinishedSpans().map(({ attributes }) => attributes)).to.deep.equal([
      { 'error.type': 'internal' },
      { 'error.type': 'internal' },
    ]);
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
    expect(tracesUrl('http://collector:4318')).to.equal('http://collector:4318/v1/traces');
    expect(tracesUrl('http://collector:4318/')).to.equal('http://collector:4318/v1/traces');
    expect(tracesUrl('https://a.example/otlp/x?y=1')).to.equal('https://a.example/otlp/x?y=1');
  });
});
