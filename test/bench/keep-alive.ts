import { connect } from 'node:net';

/** What clients have got out of a server. */
export interface Served {
  calls: number;
  seconds: number;
}

const headEnd = Buffer.from('\r\n\r\n');

/**
 * Sends one request again and again on so many connections at a time, each waiting for its answer, for so many milliseconds.
 * Cheap, so that what is measured is the server; rejects for any answer but 200.
 */
export async function hammer(
  url: string,
  request: Uint8Array,
  { connections, ms }: { connections: number; ms: number },
): Promise<Served> {
  const { hostname, port } = new URL(url);
  const began = performance.now();
  const end = began + ms;
  let calls = 0;
  const client = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect({ port: Number(port), host: hostname, noDelay: true });
      let left = 0;
      socket.on('error', reject);
      socket.on('connect', () => socket.write(request));
      socket.on('close', () => reject(new Error(`${url} hung up`)));
      socket.on('data', (piece) => {
        left = left > 0 ? left - piece.length : answerBytes(piece) - piece.length;
        if (Number.isNaN(left)) return void socket.destroy(new Error(`answered ${piece.toString('latin1')}`));
        if (left > 0) return;
        calls += 1;
        if (performance.now() < end) return void socket.write(request);
        socket.removeAllListeners('close').destroy();
        resolve();
      });
    });
  await Promise.all(Array.from({ length: connections }, client));
  return { calls, seconds: (performance.now() - began) / 1000 };
}

/** Bytes of a whole answer, whose head came in one piece; not a number for one that is no success. */
function answerBytes(piece: Buffer): number {
  const head = piece.indexOf(headEnd);
  const text = piece.toString('latin1', 0, head);
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  return text.startsWith('HTTP/1.1 200 ') ? head + headEnd.length + Number(length) : Number.NaN;
}
