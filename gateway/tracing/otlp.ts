import { randomUUID } from 'node:crypto';
import type { Tracer } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import type { Logger } from 'pino';

/** Where spans go. */
export interface Spans {
  tracer: Tracer;
  /** Sends what is left. */
  close(): Promise<void>;
}

/** Of one batch, its retries included: a collector that is away keeps no end of the gateway waiting. */
const timeoutMs = 5000;
const signalPath = '/v1/traces';

/**
 * The OpenTelemetry SDK: spans are sent in batches, by OTLP over HTTP as JSON. What it reads from the environment by itself is its own to
 * document (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`, `OTEL_BSP_…`, `OTEL_EXPORTER_OTLP_HEADERS`).
 */
export function openOtlp({ url, logger }: { url: string; logger: Logger }): Spans {
  // A batch that is lost has been told of by its exporter.
  setGlobalErrorHandler(() => undefined);
  const exporter = tellingOfOutages(
    new OTLPTraceExporter({ url: tracesUrl(url), timeoutMillis: timeoutMs }),
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
export function tellingOfOutages(exporter: SpanExporter, logger: Logger): SpanExporter {
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
