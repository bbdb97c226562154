import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A span as a collector gets it, its attributes by their names. */
export interface SentSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  name: string;
  kind: number;
  status: { code: number };
  attributes: Record<string, unknown>;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
}

export interface Collector {
  url: string;
  /** In the order in which they were begun. */
  spans(): SentSpan[];
  /** Attributes of whom the spans are of. */
  resource(): Record<string, unknown>;
  /** Paths that were posted to, and all that came, as text. */
  readonly paths: string[];
  written(): string;
  close(): Promise<void>;
}

interface Sent {
  key: string;
  value: Record<string, unknown>;
}

interface Export {
  resourceSpans: {
    resource: { attributes: Sent[] };
    scopeSpans: { spans: (Omit<SentSpan, 'attributes'> & { attributes: Sent[] })[] }[];
  }[];
}

/** Takes traces by OTLP over HTTP, as JSON. */
export async function startCollector(): Promise<Collector> {
  const paths: string[] = [];
  const bodies: string[] = [];
  const server = createServer(async (req, res) => {
    paths.push(req.url ?? '');
    bodies.push(await text(req));
    res.setHeader('content-type', 'application/json').end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const all = () => bodies.flatMap((body) => (JSON.parse(body) as Export).resourceSpans);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths,
    spans: () =>
      all()
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
        .map((span) => ({ ...span, attributes: byName(span.attributes) }))
        .sort((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano))),
    resource: () => byName(all()[0]?.resource.attributes ?? []),
    written: () => bodies.join('\n'),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function byName(attributes: readonly Sent[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
