import { randomUUID } from 'node:crypto';
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

export interface Spans {
  tracer: Tracer;
  /** Sends what is left. */
  close(): Promise<void>;
}

/** Traces calls to the collector at `url`. */
export function openTracing(options: { url: string; logger: Logger }): Tracing {
  return createTracing(openOtlp(options));
}

/** Of one batch, its retries included: a collector that is away must not hold up the gateway's end. */
const exportTimeoutMs = 5000;

/**
 * The OpenTelemetry SDK sends spans in batches, by OTLP over HTTP as JSON. It documents its own environment variables
 * (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`, `OTEL_BSP_…`, `OTEL_EXPORTER_OTLP_HEADERS`).
 */
export function openOtlp({ url, logger }: { url: string; logger: Logger }): Spans {
  // The exporter below logs lost batches.
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

/** The url that spans are posted to: a collector's bare address is completed, as the specification of OTLP says. */
export function tracesUrl(address: string): string {
  const url = new URL(address);
  if (url.pathname === '/') url.pathname = '/v1/traces';
  return url.href;
}

/** Logs once when a collector stops accepting spans, which are dropped then, and once when it accepts them again. */
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

/** Traces calls with spans. Their context travels with the call: looking it up in each callback would cost every call. */
export function createTracing({ tracer, close }: Spans): Tracing {
  const propagator = new W3CTraceContextPropagator();

  return {
    request(headers, method) {
      // An unreadable context starts a new trace.
      const context =
        headers.traceparent === undefined
          ? ROOT_CONTEXT
          : propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
      const attributes = { 'http.request.method': method };
      return new SpanTrace(method, { kind: SpanKind.SERVER, attributes }, context, { tracer, propagator });
    },
    item({ service, tenant, job, index, attempt }) {
      const attributes = {
        'helper_gateway.service': service,
        'helper_gateway.tenant': tenant,
        'helper_gateway.job_id': job,
        'helper_gateway.item': index,
        ...(attempt === undefined ? {} : { 'helper_gateway.attempt': attempt }),
      };
      const options = { kind: SpanKind.CONSUMER, attributes };
      return new SpanTrace('job-item', options, ROOT_CONTEXT, { tracer, propagator });
    },
    async close() {
      await Promise.race([close().catch(() => undefined), sleep(flushMs, undefined, { ref: false })]);
    },
  };
}

interface SpanOptions {
  kind: SpanKind;
  attributes?: Attributes;
}

interface StepTools {
  tracer: Tracer;
  propagator: TextMapPropagator;
  /** Milliseconds since 1970. One clock for all steps of a trace: by the library's own, each begins at a whole millisecond. */
  now: () => number;
}

class SpanStep implements Step {
  readonly context: Context;
  readonly span: Span;
  readonly #tools: StepTools;
  /** Absent for a trace's first step. */
  readonly parent: SpanStep | undefined;

  constructor(name: string, options: SpanOptions, parent: SpanStep | Context, tools: StepTools) {
    this.parent = parent instanceof SpanStep ? parent : undefined;
    const context = parent instanceof SpanStep ? parent.context : parent;
    this.span = tools.tracer.startSpan(name, { ...options, startTime: tools.now() }, context);
    this.context = trace.setSpan(context, this.span);
    this.#tools = tools;
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
    span.end(this.#tools.now());
  }

  headers(): Record<string, string> {
    const headers: Record<string, string> = {};
    this.#tools.propagator.inject(this.context, headers, defaultTextMapSetter);
    return headers;
  }
}

/** A call as a span, with its stages as spans inside it, one after another. */
class SpanTrace implements Trace {
  readonly id: string;
  route?: string;
  readonly #tools: StepTools;
  readonly #name: string;
  readonly #root: SpanStep;
  #lastStage: SpanStep;

  constructor(name: string, options: SpanOptions, context: Context, tools: Omit<StepTools, 'now'>) {
    const began = Date.now() - performance.now();
    this.#tools = { ...tools, now: () => began + performance.now() };
    this.#name = name;
    this.#root = new SpanStep(name, options, context, this.#tools);
    this.#lastStage = this.#root;
    this.id = this.#root.span.spanContext().traceId;
  }

  set(attributes: Attributes): void {
    this.#root.set(attributes);
  }

  stage(name: string): Step {
    this.#lastStage = this.#begin(name, SpanKind.INTERNAL);
    return this.#lastStage;
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
    // By convention, a caller's mistake is no error of the server's span.
    this.#root.end(isFault ? { code } : undefined);
  }

  /** Starts a step inside the last stage that has not ended, else the call. A trace that is not sampled has the root as its only step. */
  #begin(name: string, kind: SpanKind): SpanStep {
    if (!this.#root.span.isRecording()) return this.#root;
    let parent = this.#lastStage;
    while (parent.parent && !parent.span.isRecording()) parent = parent.parent;
    return new SpanStep(name, { kind }, parent, this.#tools);
  }
}

/** The error's code in the gateway's table, or in the pool's. Its message may hold what a customer sent. */
function errorCodeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'internal';
}
