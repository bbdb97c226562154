import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import {
  type ExportResult,
  ExportResultCode,
  setGlobalErrorHandler,
  W3CTraceContextPropagator,
} from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import type { Logger } from 'pino';
import type { Attributes, Step, Trace, TraceEnd, Tracing } from './tracing.js';

/** Where spans go. */
export interface Spans {
  tracer: Tracer;
  /** Sends what is left. */
  close(): Promise<void>;
}

/** Of one batch, its retries included: a collector that is away keeps no end of the gateway waiting. */
const exportTimeoutMs = 5000;
const signalPath = '/v1/traces';

/**
 * The OpenTelemetry SDK: spans are sent in batches, by OTLP over HTTP as JSON. What it reads from the environment by itself is its own to
 * document (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`, `OTEL_BSP_…`, `OTEL_EXPORTER_OTLP_HEADERS`).
 */
export function openOtlp({ url, logger }: { url: string; logger: Logger }): Spans {
  // A batch that is lost has been told of by its exporter.
  setGlobalErrorHandler(() => undefined);
  const exporter = logOutages(
    new OTLPTraceExporter({ url: tracesUrl(url), timeoutMillis: exportTimeoutMs }),
    logger,
  );
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'helper-gateway',
      'service.instance.id': randomUUID(),
    }).merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  return { tracer: provider.getTracer('helper-gateway'), close: () => provider.shutdown() };
}

/** The url that spans are posted to: a collector's address alone is completed, as the specification of OTLP says. */
export function tracesUrl(address: string): string {
  const url = new URL(address);
  if (url.pathname === '/') url.pathname = signalPath;
  return url.href;
}

/** Tells once of a collector that does not take spans, and once of one that does again: spans are dropped meanwhile. */
export function logOutages(exporter: SpanExporter, logger: Logger): SpanExporter {
  let isAway = false;
  return {
    export(spans: ReadableSpan[], done: (result: ExportResult) => void) {
      exporter.export(spans, (result) => {
        const failed = result.code !== ExportResultCode.SUCCESS;
        if (failed && !isAway)
          logger.warn({ err: result.error }, 'collector does not take traces; they are dropped');
        if (!failed && isAway) logger.info('collector takes traces again');
        isAway = failed;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

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

/** What a trace begins with. */
export interface FirstSpan {
  name: string;
  kind: SpanKind;
  attributes: Attributes;
  /** How other servers are told of it. */
  propagator: TextMapPropagator;
}

/** What the steps of one trace are made with. */
interface StepParts {
  tracer: Tracer;
  propagator: TextMapPropagator;
  /** Milliseconds since 1970. One clock for all steps: by the library's own, each begins at a whole millisecond. */
  now: () => number;
}

interface SpanOptions {
  kind: SpanKind;
  attributes?: Attributes;
}

/** One step as a span. */
class SpanStep implements Step {
  readonly context: Context;
  readonly span: Span;
  readonly #parts: StepParts;

  /** What it is a part of; absent for a trace's first. */
  readonly parent: SpanStep | undefined;

  constructor(name: string, options: SpanOptions, parent: SpanStep | Context, parts: StepParts) {
    this.parent = parent instanceof SpanStep ? parent : undefined;
    const within = parent instanceof SpanStep ? parent.context : parent;
    this.span = parts.tracer.startSpan(name, { ...options, startTime: parts.now() }, within);
    this.context = trace.setSpan(within, this.span);
    this.#parts = parts;
  }

  set(attributes: Attributes): void {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined) this.span.setAttribute(name, value);
    }
  }

  end(error?: unknown): void {
    const { span } = this;
    if (!span.isRecording()) return;
    if (error !== undefined) {
      span.setAttribute('error.type', errorCodeOf(error));
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end(this.#parts.now());
  }

  headers(): Record<string, string> {
    const headers: Record<string, string> = {};
    this.#parts.propagator.inject(this.context, headers, defaultTextMapSetter);
    return headers;
  }
}

/** A call as a span, and its stages as spans in it, one after another. */
export class SpanTrace implements Trace {
  readonly id: string;
  route?: string;
  readonly #parts: StepParts;
  readonly #name: string;
  readonly #root: SpanStep;
  /** The stage that was begun last. */
  #now: SpanStep;

  constructor(tracer: Tracer, within: Context, { name, kind, attributes, propagator }: FirstSpan) {
    const began = Date.now() - performance.now();
    this.#parts = { tracer, propagator, now: () => began + performance.now() };
    this.#name = name;
    this.#root = new SpanStep(name, { kind, attributes }, within, this.#parts);
    this.#now = this.#root;
    this.id = this.#root.span.spanContext().traceId;
  }

  set(attributes: Attributes): void {
    this.#root.set(attributes);
  }

  stage(name: string): Step {
    this.#now = this.#begin(name, SpanKind.INTERNAL);
    return this.#now;
  }

  part(name: string, { outgoing = false } = {}): Step {
    return this.#begin(name, outgoing ? SpanKind.CLIENT : SpanKind.INTERNAL);
  }

  end({ code, isFault = false, attributes = {} }: TraceEnd): void {
    if (this.route !== undefined) {
      this.#root.span.updateName(`${this.#name} ${this.route}`);
      this.set({ 'http.route': this.route });
    }
    this.set({ ...attributes, 'helper_gateway.code': code });
    // A caller's mistake is none of the server's, as the conventions have it.
    this.#root.end(isFault ? { code } : undefined);
  }

  /**
   * Begins what is a part of the last stage that has not ended, else of the call. Where nobody records the trace, its steps are the trace
   * itself: what goes out says that it is followed no further.
   */
  #begin(name: string, kind: SpanKind): SpanStep {
    if (!this.#root.span.isRecording()) return this.#root;
    let within = this.#now;
    while (within.parent && !within.span.isRecording()) within = within.parent;
    return new SpanStep(name, { kind }, within, this.#parts);
  }
}

/** The error's code in the gateway's table, or in the pool's. Its message may hold what a customer sent. */
function errorCodeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'internal';
}
