import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { factsOf } from '../soak/process-facts.js';
import { border, type Format, formats, loop, tuned, withBorder } from './bare-loop.js';
import { atLeast, atMost, geometricMean, inTurns, printGoals, printTable, ratio } from './measure.js';
import { closeness, decibels, type Picture, pictures } from './pictures.js';
import { answerOf, asked, fresh, type Server, startGateway, startScript, turnMs, upload } from './servers.js';

const version = '3.1.1';

/**
 * IPX, the image server of the Nuxt and UnJS projects, on a folder with these pictures; undefined where npm cannot install it. It runs
 * on the very sharp that the gateway runs on, so that servers are compared and not versions of libvips.
 */
async function startIpx(files: Record<string, Uint8Array>): Promise<Server | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'ipx-'));
  const needs = { private: true, dependencies: { ipx: version }, overrides: { sharp: sharp.versions.sharp } };
  await writeFile(join(folder, 'package.json'), JSON.stringify(needs));
  const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  const { status, stderr } = spawnSync('npm', ['install', ...quietly], { cwd: folder, encoding: 'utf8' });
  if (status !== 0) {
    console.log(`  IPX ${version} could not be installed and is left out: ${stderr?.trim().split('\n')[0]}`);
    await rm(folder, { recursive: true });
    return undefined;
  }
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes);
  const server = await startScript('./ipx-server.js', [folder]);
  console.log(
    `  IPX ${version} reads the picture from its disk; the gateway takes it as an upload. Both on sharp ${sharp.versions.sharp}.`,
  );
  return {
    ...server,
    async close() {
      await server.close();
      await rm(folder, { recursive: true });
    },
  };
}

/**
 * Prints what a border costs over HTTP, processor time of the whole server for one picture, beside IPX, beside a server that one would
 * write oneself and beside a bare loop on tuned sharp. `node dist/test/bench/border.js [FILE]`
 */

const { from, sizes } = await pictures(process.argv[2]);
console.log(`  ${from}; a border of ${border.width} px; ms of CPU for one picture`);
const gateway = await startGateway();
const own = await startScript('./naive-server.js');
const ipx = await startIpx(Object.fromEntries(sizes.map(({ name, bytes }) => [fileName(name), bytes])));

const rows: string[][] = [];
const besideIpx: { cpu: number; bytes: number; closer: number }[] = [];
const besideLoop: number[] = [];
const besideOwn: string[][] = [];
for (const picture of sizes) for (const format of formats) await compare(picture, format);

printTable(['', 'gateway', 'IPX', '', 'bytes', 'PSNR', 'IPX', 'bare loop', '', 'own server', ''], rows);
console.log('');
printTable(['pictures a second', 'gateway', 'own server', ''], besideOwn);
console.log('');
printTable(['memory after it, MB', 'gateway', ...(ipx ? ['IPX'] : []), 'own server'], [['', ...memory()]]);
printGoals(goals());

await Promise.all([gateway.close(), own.close(), ipx?.close()]);

function fileName(name: string): string {
  return `${name.replace(' ', '')}.jpg`;
}

async function compare({ name, bytes }: Picture, format: Format): Promise<void> {
  const fields = { width: String(border.width), color: border.color, format };
  const toGateway = upload(`/media/add-border?ak=${gateway.key}`, bytes, fields);
  const modifiers = `background_${border.color.slice(1)},extend_${Array(4).fill(border.width).join('_')}`;
  const toIpx = { path: `/${modifiers},format_${format}/${fileName(name)}` };
  const [ours, bare, owns, theirs] = await inTurns(
    [
      asked(gateway, () => fresh(toGateway)),
      loop(() => tuned[format](withBorder(sharp(bytes).autoOrient())).toBuffer()),
      asked(own, upload('/', bytes, fields)),
      ...(ipx ? [asked(ipx, toIpx)] : []),
    ],
    { turnMs },
  );
  const ms = (value: number) => value.toFixed(1);
  const cpu = ours.cpuMs;
  const ofIpx = ipx && theirs && { server: ipx, cpu: theirs.cpuMs };
  const seen = ofIpx && (await besides(bytes, [gateway, toGateway], [ofIpx.server, toIpx]));
  if (ofIpx && seen) besideIpx.push({ cpu: cpu / ofIpx.cpu, bytes: seen.bytes, closer: seen.closer });
  besideLoop.push(cpu / bare.cpuMs);
  rows.push([
    `${name} ${format}`,
    ms(cpu),
    ...(ofIpx && seen
      ? [ms(ofIpx.cpu), ratio(cpu, ofIpx.cpu), ratio(seen.bytes, 1), ...seen.psnr]
      : Array(5).fill('–')),
    ms(bare.cpuMs),
    ratio(cpu, bare.cpuMs),
    ms(owns.cpuMs),
    ratio(cpu, owns.cpuMs),
  ]);
  const [fast, slow] = [ours.perSecond, owns.perSecond];
  besideOwn.push([`${name} ${format}`, fast.toFixed(1), slow.toFixed(1), ratio(fast, slow)]);
}

type Asked = [Server, Parameters<typeof answerOf>[1]];

/** Bytes as a ratio, and by how many dB ours is closer; nought where both are exact. */
async function besides(source: Uint8Array, ours: Asked, theirs: Asked) {
  const [a, b] = await Promise.all([answerOf(...ours), answerOf(...theirs)]);
  const [x, y] = await Promise.all([closeness(source, a), closeness(source, b)]);
  return { bytes: a.length / b.length, closer: x === y ? 0 : x - y, psnr: [decibels(x), decibels(y)] };
}

function memory(): string[] {
  return [gateway, ...(ipx ? [ipx] : []), own].map(({ pid }) => factsOf(pid)?.rssMb.toFixed(0) ?? '–');
}

function goals() {
  const ratios = [atMost(1.1, 'CPU beside the bare loop, geometric mean', geometricMean(besideLoop), '×')];
  if (besideIpx.length === 0) return ratios;
  const each = (name: 'cpu' | 'bytes' | 'closer') => besideIpx.map((seen) => seen[name]);
  return [
    atMost(0.55, 'CPU beside IPX, geometric mean', geometricMean(each('cpu')), '×'),
    atMost(1.1, 'bytes beside IPX, geometric mean', geometricMean(each('bytes')), '×'),
    atMost(1.1, 'bytes beside IPX, most', Math.max(...each('bytes')), '×'),
    atLeast(-0.3, 'PSNR less IPX’s, least', Math.min(...each('closer')), 'dB'),
    ...ratios,
  ];
}
