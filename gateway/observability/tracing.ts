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
  type SpanOptions,
  SpanStatusCode,
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

/** Attributes of a span: never a key, a query, an input or anything derived from them. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A span of a call, from its start. */
export type Step = Pick<SpanStep, 'set' | 'end' | 'headers'>;
export type Trace = Pick<SpanTrace, keyof SpanTrace>;
export type Tracing = ReturnType<typeof createTracing>;

/** Of one batch, its retries included: a collector that is away must not hold up the gateway's end. */
const exportTimeoutMs = 5000;

/**
 * Traces calls to the collector at `url`: the OpenTelemetry SDK sends spans in batches, by OTLP over HTTP as JSON, and reads its
 * own environment variables (`OTEL_SERVICE_NAME`, `OTEL_TRACES_SAMPLER`, `OTEL_BSP_…`, `OTEL_EXPORTER_OTLP_HEADERS`).
 */
export function openTracing({ url, logger }: { url: string; logger: Logger }): Tracing {
  // The exporter below logs lost batches.
  setGlobalErrorHandler(() => undefined);
  const otlp = new OTLPTraceExporter({ url: tracesUrl(url), timeoutMillis: exportTimeoutMs });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'helper-gateway',
      'service.instance.id': randomUUID(),
    }).merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(logOutages(otlp, logger))],
  });
  return createTracing({ tracer: provider.getTracer('helper-gateway'), close: () => provider.shutdown() });
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
          logger.warn({ err: result.error }, 'collector does not accept traces; they are dropped');
        if (!failed && isAway) logger.info('collector accepts traces again');
        isAway = failed;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

/** An item of a job; `tenant` and `job` are ids. */
interface TracedItem {
  service: string;
  tenant: string;
  job: string;
  index: number;
  attempt?: number;
}

const propagator = new W3CTraceContextPropagator();
const flushMs = 2000;

/** Traces calls with spans. Their context travels with the call: looking it up in each callback would cost every call. */
export function createTracing({ tracer, close }: { tracer: Tracer; close(): Promise<void> }) {
  return {
    /** Starts with a request; continues the trace that it came with. An unreadable context starts a new one. */
    request(headers: IncomingHttpHeaders, method: string): Trace {
      const context =
        headers.traceparent === undefined
          ? ROOT_CONTEXT
          : propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
      const attributes = { 'http.request.method': method };
      return new SpanTrace(method, { kind: SpanKind.SERVER, attributes }, context, tracer);
    },
    /** Starts with an item of a job, in a trace of its own. */
    item({ service, tenant, job, index, attempt }: TracedItem): Trace {
      const attributes = {
        'helper_gateway.service': service,
        'helper_gateway.tenant': tenant,
        'helper_gateway.job_id': job,
        'helper_gateway.item': index,
        ...(attempt === undefined ? {} : { 'helper_gateway.attempt': attempt }),
      };
      return new SpanTrace('job-item', { kind: SpanKind.CONSUMER, attributes }, ROOT_CONTEXT, tracer);
    },
    /** Sends what is left, for two seconds at most. Never rejects. */
    async close(): Promise<void> {
      await Promise.race([close().catch(() => undefined), sleep(flushMs, undefined, { ref: false })]);
    },
  };
}

interface StepTools {
  tracer: Tracer;
  /** Milliseconds since 1970. One clock for all steps of a trace: by the library's own, each begins at a whole millisecond. */
  now: () => number;
}

class SpanStep {
  readonly context: Context;
  readonly span: Span;
  /** Absent for a trace's first step. */
  readonly parent: SpanStep | undefined;
  readonly #now: StepTools['now'];

  constructor(name: string, options: SpanOptions, parent: SpanStep | Context, { tracer, now }: StepTools) {
    this.parent = parent instanceof SpanStep ? parent : undefined;
    const context = parent instanceof SpanStep ? parent.context : parent;
    this.span = tracer.startSpan(name, { ...options, startTime: now() }, context);
    this.context = trace.setSpan(context, this.span);
    this.#now = now;
  }

  set(attributes: Attributes): void {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined) this.span.setAttribute(name, value);
    }
  }

  /** Ends it, with its error if any; later calls do nothing. */
  end(error?: unknown): void {
    const { span } = this;
    if (!span.isRecording()) return;
    if (error !== undefined) {
      span.setAttribute('error.type', errorCodeOf(error));
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end(this.#now());
  }

  /** The headers that make another server's spans parts of this one (W3C Trace Context). */
  headers(): Record<string, string> {
    const headers: Record<string, string> = {};
    propagator.inject(this.context, headers, defaultTextMapSetter);
    return headers;
  }
}

interface TraceEnd {
  /** The error's code; absent where it succeeded. */
  code?: string | undefined;
  /** Whether the fault is the gateway's, not the caller's. */
  isFault?: boolean;
  attributes?: Attributes;
}

/** A call as a span, with its stages as spans inside it, one after another. */
class SpanTrace {
  /** 32 hexadecimal digits, which the log has too. */
  readonly id: string;
  /** Such as `/media/add-border` or `/jobs/:id`: of a bounded number. */
  route?: string;
  readonly #tools: StepTools;
  readonly #name: string;
  readonly #root: SpanStep;
  #lastStage: SpanStep;

  constructor(name: string, options: SpanOptions, context: Context, tracer: Tracer) {
    const began = Date.now() - performance.now();
    this.#tools = { tracer, now: () => began + performance.now() };
    this.#name = name;
    this.#root = new SpanStep(name, options, context, this.#tools);
    this.#lastStage = this.#root;
    this.id = this.#root.span.spanContext().traceId;
  }

  set(attributes: Attributes): void {
    this.#root.set(attributes);
  }

  /** Starts a stage: after the one before, or inside it where that has not ended. */
  stage(name: string): Step {
    this.#lastStage = this.#begin(name, SpanKind.INTERNAL);
    return this.#lastStage;
  }

  /** Starts a part of the last stage; `outgoing` where another server does it. */
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
