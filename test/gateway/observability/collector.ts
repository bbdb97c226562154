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

export type Collector = Awaited<ReturnType<typeof startCollector>>;

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

/** Accepts traces by OTLP over HTTP, as JSON. */
export async function startCollector() {
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
    /** Paths that were posted to. */
    paths,
    /** In the order in which they were begun. */
    spans: (): SentSpan[] =>
      all()
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
        .map((span) => ({ ...span, attributes: byName(span.attributes) }))
        .sort((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano))),
    /** Attributes of the spans' service. */
    resource: () => byName(all()[0]?.resource.attributes ?? []),
    /** All that came, as text. */
    written: () => bodies.join('\n'),
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function byName(attributes: readonly Sent[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
