import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import ipaddr from 'ipaddr.js';
import { createHostsFile, createResolve, parseHosts } from '../../../gateway/download/url.js';
import { rejection } from './raw-server.js';

const [typeA, typeAaaa] = [1, 28];

/** A DNS server on loopback that answers from `zone`; a name that is not in it does not exist, one with `null` gets no answer. */
async function startNameServer(zone: Record<string, string[] | null>) {
  const server = createSocket('udp4');
  server.on('message', (query, peer) => {
    const labels: string[] = [];
    let at = 12;
    for (let size = query[at] ?? 0; size > 0; size = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + size));
      at += size + 1;
    }
    const type = query.readUInt16BE(at + 1);
    const known = zone[labels.join('.').toLowerCase()];
    if (known === null) return;
    const wanted = (known ?? []).filter((address) => type === (isIPv4(address) ? typeA : typeAaaa));
    const answers = wanted.map((address) => {
      const data = ipaddr.parse(address).toByteArray();
      return Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length, ...data]);
    });
    const counts = [0, 1, 0, answers.length, 0, 0, 0, 0];
    const header = Buffer.from([...query.subarray(0, 2), 0x81, known ? 0x80 : 0x83, ...counts]);
    server.send(Buffer.concat([header, query.subarray(12, at + 5), ...answers]), peer.port, peer.address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

describe('createResolve', () => {
  const zone: Record<string, string[] | null> = {
    'both.example': ['8.8.8.8', '2606:4700::1', '10.0.0.1'],
    'six.example': ['2606:4700::1'],
    'none.example': [],
    'silent.example': null,
  };
  const live = new AbortController().signal;
  let server: Awaited<ReturnType<typeof startNameServer>>;
  let resolve: ReturnType<typeof createResolve>;
  before(async () => {
    server = await startNameServer(zone);
    resolve = createResolve('/nonexistent', [`127.0.0.1:${server.address().port}`]);
  });
  after(() => server.close());

  it('gives every address, IPv4 first', async () => {
    expect(await resolve('both.example', live)).to.deep.equal(['8.8.8.8', '10.0.0.1', '2606:4700::1']);
    expect(await resolve('six.example', live)).to.deep.equal(['2606:4700::1']);
  });

  it('keeps no answer: the next look-up asks again', async () => {
    zone['rebind.example'] = ['8.8.8.8'];
    expect(await resolve('rebind.example', live)).to.deep.equal(['8.8.8.8']);
    zone['rebind.example'] = ['127.0.0.1'];
    expect(await resolve('rebind.example', live)).to.deep.equal(['127.0.0.1']);
  });

  it('rejects for a name that does not exist or has no address', async () => {
    expect((await rejection(resolve('unknown.example', live))).code).to.equal('ENOTFOUND');
    expect((await rejection(resolve('none.example', live))).code).to.equal('ENODATA');
  });

  it('stops asking a silent name server when it is aborted', async () => {
    const caller = new AbortController();
    const pending = rejection(resolve('silent.example', caller.signal));
    caller.abort();
    expect((await pending).code).to.equal('ECANCELLED');
  });
});

describe('createHostsFile', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hosts-'));
  const path = join(folder, 'hosts');
  after(() => rmSync(folder, { recursive: true }));

  it('lists nothing while there is no file, and reads it again when it changes', () => {
    const lookUp = createHostsFile(path);
    expect(lookUp('a.example')).to.deep.equal([]);
    writeFileSync(path, '10.0.0.1 a.example\n');
    expect(lookUp('a.example')).to.deep.equal(['10.0.0.1']);
    writeFileSync(path, '10.0.0.22 a.example\n');
    expect(lookUp('a.example')).to.deep.equal(['10.0.0.22']);
  });

  it('reads aliases, comments, any case, several lines of one name, and passes over what is no address', () => {
    const names = parseHosts(
      '# x\n\n127.0.0.1\tA.example b.example # c.example\n::1 a.example\r\nnonsense d.example\n1.1.1.1\n',
    );
    expect(Object.fromEntries(names)).to.deep.equal({
      'a.example': ['127.0.0.1', '::1'],
      'b.example': ['127.0.0.1'],
    });
  });
});
