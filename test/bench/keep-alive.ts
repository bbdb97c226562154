import { connect } from 'node:net';

const headEnd = Buffer.from('\r\n\r\n');

/**
 * Sends one request so many times, on so many connections at a time, each waiting for its answer.
 * Cheap, so that what is measured is the server; rejects for any answer but 200.
 */
export async function hammer(
  url: string,
  request: Uint8Array,
  { connections, calls }: { connections: number; calls: number },
): Promise<void> {
  const { hostname, port } = new URL(url);
  let begun = 0;
  const client = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect({ port: Number(port), host: hostname, noDelay: true });
      let left = 0;
      socket.on('error', reject);
      const next = () => {
        begun += 1;
        if (begun <= calls) return void socket.write(request);
        socket.removeAllListeners('close').destroy();
        resolve();
      };
      socket.on('connect', next);
      socket.on('close', () => reject(new Error(`${url} hung up`)));
      socket.on('data', (piece) => {
        left = left > 0 ? left - piece.length : answerBytes(piece) - piece.length;
        if (Number.isNaN(left)) return void socket.destroy(new Error(`answered ${piece.toString('latin1')}`));
        if (left === 0) next();
      });
    });
  await Promise.all(Array.from({ length: connections }, client));
}

/** Bytes of a whole answer, whose head came in one piece; not a number for one that is no success. */
function answerBytes(piece: Buffer): number {
  const head = piece.indexOf(headEnd);
  const text = piece.toString('latin1', 0, head);
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  return text.startsWith('HTTP/1.1 200 ') ? head + headEnd.length + Number(length) : Number.NaN;
}
