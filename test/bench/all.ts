/**
 * `npm run bench`: every bench, one after the other, each with its goals; `npm run bench -- border text` those alone. Any other word is
 * a picture's file, which is measured on in place of a drawn one. What missed its goal is repeated at the end.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';

const names = 'start border watermark pipeline focus cache cost text path diff quiet growth jobs pages'.split(
  ' ',
);

const words = process.argv.slice(2);
const files = words.filter((word) => !names.includes(word));
const chosen = names.filter((name) => words.includes(name));
const missed: string[] = [];

console.log(
  `${cpus().length} × ${cpus()[0]?.model}, Node ${process.versions.node}, sharp ${sharp.versions.sharp}, libvips ${sharp.versions.vips}\n` +
    'Ratios are measured in turns within one run and hold anywhere; milliseconds and pictures a second are this machine’s, with what else it does.',
);
for (const name of chosen.length > 0 ? chosen : names) {
  console.log(`\n${name}`);
  const script = fileURLToPath(new URL(`./${name}.js`, import.meta.url));
  const bench = spawn(process.execPath, [script, ...files], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(bench, 'exit');
  for await (const line of createInterface({ input: bench.stdout })) {
    console.log(line);
    if (line.endsWith(' missed')) missed.push(`${name}: ${line.trim()}`);
  }
  const [status] = await ended;
  if (status !== 0) {
    missed.push(`${name}: ended with ${status}`);
    process.exitCode = 1;
  }
}
console.log(missed.length === 0 ? '\nno goal was missed' : `\nmissed:\n  ${missed.join('\n  ')}`);
