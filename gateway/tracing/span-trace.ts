import { performance } from 'node:perf_hooks';
import {
  type Context,
  defaultTextMapSetter,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Attributes, Step, Trace, TraceEnd } from './tracing.js';

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
      span.setAttribute('error.type', codeOf(error));
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
function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'internal';
}
