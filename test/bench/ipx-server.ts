/** Serves a folder's pictures by the IPX that is installed in it, as its own documentation has it. Prints its url. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

interface Ipx {
  createIPX(options: { storage: unknown }): unknown;
  ipxFSStorage(options: { dir: string }): unknown;
  createIPXNodeServer(ipx: unknown): RequestListener;
}

const folder = process.argv[2] ?? '.';
const entry = join(folder, 'node_modules', 'ipx', 'dist', 'index.mjs');
const { createIPX, ipxFSStorage, createIPXNodeServer } = (await import(pathToFileURL(entry).href)) as Ipx;
const server = createServer(createIPXNodeServer(createIPX({ storage: ipxFSStorage({ dir: folder }) })));
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
