import type { Worker } from 'node:cluster';

/** A connection as Node's cluster hands it on. */
interface Handle {
  close(...given: unknown[]): unknown;
}

/** What goes between Node's cluster and a process of it, as far as it is looked at here. */
interface Passed {
  act?: string;
  seq?: number;
  ack?: number;
  accepted?: boolean;
}

/** In this time another process has taken a connection that one refused, if there is any that takes more. */
const dealtMs = 1_000;

/**
 * Closes connections of which Node would forget its own end: those that were being handed to a process when it ended, and those that
 * came as the last process stopped to listen. Their clients would wait in vain, where they could call again.
 */
export function closeWith(worker: Worker): void {
  const onTheirWay = new Map<number, Handle>();
  const child = worker.process;
  const send = child.send.bind(child) as (...given: unknown[]) => boolean;
  child.send = function sendAndNote(message: Passed, handle?: Handle, ...rest: unknown[]): boolean {
    if (message.act === 'newconn' && message.seq !== undefined && handle) onTheirWay.set(message.seq, handle);
    return send(message, handle, ...rest);
  } as typeof child.send;
  child.on('internalMessage', ({ ack, accepted }: Passed) => {
    const handle = ack === undefined ? undefined : onTheirWay.get(ack);
    if (!handle) return;
    onTheirWay.delete(ack as number);
    // Twice is once.
    if (accepted === false) setTimeout(() => handle.close(), dealtMs).unref();
  });
  worker.on('exit', () => {
    for (const handle of onTheirWay.values()) handle.close();
  });
}
