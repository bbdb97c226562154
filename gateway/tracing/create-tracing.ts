import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Context, defaultTextMapGetter, ROOT_CONTEXT, SpanKind } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { Spans } from './otlp.js';
import { SpanTrace } from './span-trace.js';
import type { Tracing } from './tracing.js';

const flushMs = 2000;

/** Follows calls with spans. The context goes along with the call: to find it anew in each callback would cost every one of them. */
export function createTracing({ tracer, close }: Spans): Tracing {
  const propagator = new W3CTraceContextPropagator();

  /** Of what it came with, if that can be read: else a new trace begins. */
  function cameWith(headers: IncomingHttpHeaders): Context {
    return headers.traceparent === undefined
      ? ROOT_CONTEXT
      : propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
  }

  return {
    request(headers, method) {
      const attributes = { 'http.request.method': method };
      return new SpanTrace(tracer, cameWith(headers), {
        name: method,
        kind: SpanKind.SERVER,
        attributes,
        propagator,
      });
    },
    item({ service, tenant, job, index, attempt }) {
      return new SpanTrace(tracer, ROOT_CONTEXT, {
        name: 'job-item',
        kind: SpanKind.CONSUMER,
        attributes: {
          'helper_gateway.service': service,
          'helper_gateway.tenant': tenant,
          'helper_gateway.job_id': job,
          'helper_gateway.item': index,
          ...(attempt === undefined ? {} : { 'helper_gateway.attempt': attempt }),
        },
        propagator,
      });
    },
    async close() {
      await Promise.race([close().catch(() => undefined), sleep(flushMs, undefined, { ref: false })]);
    },
  };
}
